//! Determines which fields with the same name are copies: those with equal values, and those that are declared.

use docward_model::{CopiedField, Settings, ThresholdSetting};

/// Whether a copy is declared as a mirror.
pub fn is_mirror(settings: &Settings, copy: &CopiedField) -> bool {
    let namespace = copy.from.to_string();
    settings.mirrors.iter().any(|(glob, path)| is_named(path, copy) && glob.matches(&namespace))
}

/// Whether a field is a copy of its source, and not only a field of the same name.
pub fn is_real(settings: &Settings, copy: &CopiedField) -> bool {
    let namespace = copy.from.to_string();
    let is_snapshot = || match settings.threshold_at("R007", "snapshots", Some(&namespace)) {
        Some(ThresholdSetting::Words(paths)) => paths.iter().any(|path| is_named(path, copy)),
        _ => false,
    };
    copy.by_value || is_mirror(settings, copy) || is_snapshot()
}

/// Whether a path, with or without `[]`, is that of the copy.
pub fn is_named(path: &str, copy: &CopiedField) -> bool {
    path == copy.path.dotted() || path == copy.path.as_str()
}

#[cfg(test)]
mod tests {
    use docward_model::{FieldPath, Namespace, NamespacePattern};

    use super::*;

    #[test]
    fn pt_extref_1_a_name_alone_makes_no_copy() {
        let mut copy = CopiedField {
            from: Namespace::new("db_shop", "t_order"),
            path: FieldPath::new("items[].status"),
            reference: FieldPath::new("items[].productId"),
            to: Namespace::new("db_shop", "t_product"),
            source: FieldPath::new("status"),
            compared: 256,
            differing: 256,
            by_value: false,
        };
        let mut settings = Settings::default();
        assert!(!is_real(&settings, &copy));
        let shop = NamespacePattern::new("db_shop.*").expect("a glob");
        settings.mirrors.push((shop, "items.status".to_owned()));
        assert!(is_real(&settings, &copy));
        settings.mirrors.clear();
        copy.by_value = true;
        assert!(is_real(&settings, &copy));
    }
}
