//! Which failures may pass, and what their limit is.

use troupe_core::ports::model::{Fault, ModelError};

/// What is done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing.
    Final,
    /// Tried once more: at once with a new credential, else after the first wait, since a gateway may err.
    Once,
    /// Tried again, so many times.
    Counted,
    /// Tried again, so long.
    Timed,
}

pub(super) fn of(error: &ModelError) -> Class {
    let usual = match error.fault {
        Fault::RateLimit | Fault::Overloaded => Class::Timed,
        Fault::Server | Fault::Timeout | Fault::Network | Fault::Malformed => Class::Counted,
        // No waiting mends these, whatever a header says.
        Fault::Billing
        | Fault::PromptTooLong
        | Fault::TooLarge
        | Fault::Permission
        | Fault::NotFound
        | Fault::Cancelled
        | Fault::Script => return Class::Final,
        Fault::Authentication => Class::Once,
        Fault::InvalidRequest => Class::Final,
    };
    match (error.should_retry, usual) {
        (Some(false), _) => Class::Final,
        (Some(true), Class::Final) => Class::Counted,
        (_, usual) => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(fault: Fault, should_retry: Option<bool>) -> Class {
        of(&ModelError { should_retry, ..ModelError::new(fault, "x") })
    }

    // proves: E6
    #[test]
    fn each_fault_has_its_class_and_the_provider_may_move_it() {
        let yes_no = [None, Some(true), Some(false)];
        for (fault, classes) in [
            (Fault::RateLimit, [Class::Timed, Class::Timed, Class::Final]),
            (Fault::Overloaded, [Class::Timed, Class::Timed, Class::Final]),
            (Fault::Server, [Class::Counted, Class::Counted, Class::Final]),
            (Fault::Timeout, [Class::Counted, Class::Counted, Class::Final]),
            (Fault::Network, [Class::Counted, Class::Counted, Class::Final]),
            (Fault::Malformed, [Class::Counted, Class::Counted, Class::Final]),
            (Fault::InvalidRequest, [Class::Final, Class::Counted, Class::Final]),
            (Fault::Authentication, [Class::Once, Class::Once, Class::Final]),
            (Fault::Billing, [Class::Final; 3]),
            (Fault::PromptTooLong, [Class::Final; 3]),
            (Fault::TooLarge, [Class::Final; 3]),
            (Fault::Permission, [Class::Final; 3]),
            (Fault::NotFound, [Class::Final; 3]),
            (Fault::Cancelled, [Class::Final; 3]),
            (Fault::Script, [Class::Final; 3]),
        ] {
            assert_eq!(yes_no.map(|said| class(fault, said)), classes, "{fault:?}");
        }
    }
}
