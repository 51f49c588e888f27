//! The read preference for a service, by its class (RP-1 to RP-5, GC-10).

use docward_model::ServiceClass;

/// A read preference and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAdvice {
    /// The mode as spelled in connection strings.
    pub mode: &'static str,
    /// The clause it is based on.
    pub clause: &'static str,
    /// The reason, as a sentence without a period.
    pub why: &'static str,
    /// True if a person has to decide first.
    pub asks: bool,
}

/// The read preference for a service. `stale_ms` is the accepted staleness of its reads, if
/// declared.
pub fn read_preference(class: Option<ServiceClass>, stale_ms: Option<u64>) -> ReadAdvice {
    let advice = |mode, clause, why| ReadAdvice { mode, clause, why, asks: false };
    match (class, stale_ms) {
        (Some(ServiceClass::Core), _) => {
            advice("primary", "RP-1", "core services must read their own writes")
        }
        // If the class reads from secondaries but the service requires current reads, the service
        // decides.
        (Some(_), Some(0)) => {
            advice("primary", "RP-7", "the service declares that its reads must be current")
        }
        (Some(ServiceClass::General), _) => advice(
            "primaryPreferred",
            "RP-2",
            "general services read the primary, and a secondary if there is no primary",
        ),
        (Some(ServiceClass::Report), _) => advice(
            "secondary",
            "RP-3",
            "reports may read stale data, and must not load the primary",
        ),
        (Some(ServiceClass::ReadHeavy), _) => advice(
            "secondaryPreferred",
            "RP-4",
            "read-heavy services that accept slightly old data should not load the primary",
        ),
        (Some(ServiceClass::Regional), _) => {
            advice("nearest", "RP-5", "users in several regions read the nearest member")
        }
        (None, _) => ReadAdvice {
            mode: "primary",
            clause: "GC-10",
            why: "the class of the service is unknown: may it read stale data?",
            asks: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rp_1_rp_2_rp_3_rp_4_rp_5_the_class_decides() {
        for (class, mode, clause) in [
            (ServiceClass::Core, "primary", "RP-1"),
            (ServiceClass::General, "primaryPreferred", "RP-2"),
            (ServiceClass::Report, "secondary", "RP-3"),
            (ServiceClass::ReadHeavy, "secondaryPreferred", "RP-4"),
            (ServiceClass::Regional, "nearest", "RP-5"),
        ] {
            let advice = read_preference(Some(class), None);
            assert_eq!((advice.mode, advice.clause), (mode, clause));
            assert!(!advice.asks);
        }
        let unknown = read_preference(None, Some(500));
        assert!(unknown.asks);
        assert_eq!(unknown.mode, "primary", "never secondaryPreferred by itself (GC-10)");
        assert_eq!(read_preference(Some(ServiceClass::Report), Some(0)).mode, "primary");
    }
}
