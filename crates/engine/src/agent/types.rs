//! The agent types that a call means, for the rules that name them.

use troupe_core::access::Access;
use troupe_core::catalogue::Catalogue;

/// Adds the type that is started to the one that the call names, where it is another name of it: a rule about either
/// holds.
pub(super) fn meant(access: &mut Vec<Access>, catalogue: &Catalogue) {
    let mut also = Vec::new();
    for one in access.iter() {
        let Access::Spawn { agent } = one else { continue };
        let Some(def) = catalogue.find(agent).filter(|def| def.name != *agent) else { continue };
        also.push(Access::Spawn { agent: def.name.clone() });
    }
    access.extend(also);
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::coordinator;

    // proves: A8
    #[test]
    fn a_rule_about_a_type_holds_for_each_of_its_names() {
        let catalogue = Catalogue::of([coordinator::worker()], Vec::new());
        let spawn = |agent: &str| Access::Spawn { agent: agent.to_owned() };
        let of = |agent: &str| {
            let mut access = vec![spawn(agent)];
            meant(&mut access, &catalogue);
            access
        };
        assert_eq!(of("general-purpose"), [spawn("general-purpose"), spawn("worker")]);
        assert_eq!(of("WORKER"), [spawn("WORKER"), spawn("worker")]);
        assert_eq!(of("worker"), [spawn("worker")]);
        assert_eq!(of("nobody"), [spawn("nobody")]);
    }
}
