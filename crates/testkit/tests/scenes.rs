//! Every scene, in four ways; a coordinator, the lead of a team and one that is prompted twice are never children.

use troupe_testkit::{Scene, ways};

fn scene(name: &str) -> Scene {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes").join(format!("{name}.scene"));
    Scene::parse(name, &std::fs::read_to_string(path).unwrap_or_default())
}

macro_rules! scenes {
    ($($(#[$proves:meta])* $name:ident),+ $(,)?) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn straight() {
                insta::assert_snapshot!(stringify!($name), ways::straight(&scene(stringify!($name))).await);
            }

            #[tokio::test]
            async fn with_a_crash_after_each_append() {
                ways::crash_sweep(&scene(stringify!($name))).await;
            }

            #[tokio::test]
            async fn with_an_interrupt_at_each_event() {
                ways::cancel_sweep(&scene(stringify!($name))).await;
            }
        }
    )+};
}

/// Those whose main agent does what any agent may, at one prompt.
mod as_a_child {
    use super::{scene, ways};

    macro_rules! children {
        ($($name:ident),+ $(,)?) => {$(
            #[tokio::test]
            async fn $name() {
                ways::as_child(&scene(stringify!($name))).await;
            }
        )+};
    }

    // proves: E1, E2, A3, A4, A6, A8, A9, C2, C6, C8, D2, D9, D10, S1, X4, X7, F005, F009, F014, F182
    children! {
        auto, bad_calls, circle, fast_agents, fix_a_bug, forks, limited_types, look_only, plan_by_agents, two_agents, verdict, wordless
    }
}

// proves: E1, E2, E3, E7, A4, A6, A8
scenes! { fix_a_bug, two_agents, two_turns, bad_calls }

// proves: D9, D10
scenes! { look_only, verdict }
// proves: C2
scenes! { fast_agents }
// proves: X4, E4, F009, F021
scenes! { wordless, family }
// proves: A3, C6, C8, F014
scenes! { forks }
// proves: O1, O2, X1, B3
scenes! { coordinator }
// proves: M5, M7, A10, B7, F022, F027
scenes! { messages, names }
// proves: T1, T3, T5, T9, M5, M7, S6, A1
scenes! { team }
// proves: S6, S8, M3
scenes! { team_plans }
// proves: T1, T9, M3, M5, M7, T6
scenes! { team_mail }
// proves: K1, K2, T2, T5, X6
scenes! { team_tasks }
// proves: T3, M3, K3, X9, X17
scenes! { team_ends }
// proves: S3, S5, X14, X9
scenes! { team_leave }
// proves: A9, D2
scenes! { limited_types }

// proves: S1, F182
scenes! { plan_mode, plan_by_agents, auto }

mod circle {
    //! A crash loses a result, which is another one than before, so the circle begins anew: no sweep of crashes.
    use super::{scene, ways};

    // proves: F005
    #[tokio::test]
    async fn straight() {
        insta::assert_snapshot!("circle", ways::straight(&scene("circle")).await);
    }

    // proves: F005
    #[tokio::test]
    async fn with_an_interrupt_at_each_event() {
        ways::cancel_sweep(&scene("circle")).await;
    }
}
