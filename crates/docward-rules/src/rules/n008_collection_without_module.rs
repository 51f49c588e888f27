//! DM-03.3: a collection name consists of module and entity (GC-23).

use docward_model::{Collection, Draft, NameFamily, Seen, Severity, Subject, TailForm, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::{
            self, meaning,
            suffix::{Tail, time_tail},
        },
    },
    threshold,
};

declare_rule! {
    /// # Collection without module
    ///
    /// ## What it checks
    /// Reports prefixed collection names that consist of one word, such as `t_orders`. A time suffix does not
    /// count as a word. The rule book asks for module and entity, but its own examples use one-word names. The
    /// finding is therefore a note; with `require-module` it is a warning.
    ///
    /// ## Why it matters
    /// In a database that several modules share, `t_address` does not show whose address it is.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_orders
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_user_address
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Put the module in front of the entity when the collection is next renamed.
    ///
    /// ## When to ignore it
    /// The database belongs to one module, and its name shows this.
    N008, "collection-without-module",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-03.3"],
    maturity: Stable,
    scope: HouseNaming,
    needs: [Names],
    thresholds: [PREFIX, REQUIRE_MODULE],
    data: ["entity"],
    check: Collection(check),
}

threshold!(PREFIX, "prefix", Text("t_"), "text", "DM-03.1", "the prefix before module and entity");
threshold!(
    REQUIRE_MODULE,
    "require-module",
    Flag(false),
    "on or off",
    "GC-23",
    "whether a missing module is reported as a warning"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    let prefix = cx.text(&PREFIX);
    let Some(body) = ns.collection.strip_prefix(&prefix) else { return };
    if server::is_system_database(&ns.database) || body.is_empty() {
        return;
    }
    let (entity, time) = match time_tail(&ns.collection) {
        Tail::Good => {
            let entity = body.rsplit_once('_').map_or(body, |(entity, _)| entity);
            (entity, body[entity.len()..].to_owned())
        }
        Tail::Odd(tail) => {
            let at = tail.stem.len().saturating_sub(prefix.len()).min(body.len());
            let (entity, written) = body.split_at_checked(at).unwrap_or((body, ""));
            // The time has the configured form if it is clear; otherwise it stays unchanged, and N010 reports it.
            let time = tail
                .proposal
                .as_deref()
                .and_then(|name| name.strip_prefix(&prefix)?.strip_prefix(entity))
                .unwrap_or(written);
            (entity, time.to_owned())
        }
        Tail::None => (body, String::new()),
    };
    if entity.split(['_', '.', '-']).filter(|s| !s.is_empty()).count() != 1 {
        return;
    }
    // `t_device_1` to `t_device_5000` are one name, and R012 reports more about them.
    let stem = ns.collection.trim_end_matches(|c: char| c.is_ascii_digit());
    let in_family =
        |f: &NameFamily| f.form == TailForm::Number && f.database == ns.database && f.stem == stem;
    if cx.evidence().families.iter().any(in_family) {
        return;
    }
    let module = ns.database.strip_prefix("db_").unwrap_or(&ns.database);
    // `t_order_orders` would repeat the word.
    let says_it = meaning::singular(module) == meaning::singular(entity)
        || entity.starts_with(module)
        || server::is_system_database(module)
        || module == "test";
    let (own_module, own_entity) = (in_house_letters(module), in_house_letters(entity));
    let shown = own_entity.as_deref().unwrap_or("<entity>");
    let todo = match own_module {
        Some(module) if !says_it => {
            format!("add the module, for instance `{prefix}{module}_{shown}{time}`")
        }
        _ => format!("add the module that owns it: `{prefix}<module>_{shown}{time}`"),
    };
    let severity = if cx.flag(&REQUIRE_MODULE) { Severity::Warn } else { Severity::Info };
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!("the name of collection `{}` has an entity but no module", ns.collection),
            "if several modules share a database, a one-word name does not show which module owns the data",
            todo,
            Seen::all(cx.evidence().collections.len() as u64, Unit::Collections),
        )
        .data("entity", entity)
        .severity(severity),
    );
}

/// A word in the characters that N007 accepts; `None` if it has others.
fn in_house_letters(word: &str) -> Option<String> {
    let word = names::to_snake(word);
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!word.is_empty() && word.chars().all(fits)).then_some(word)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    #[test]
    fn dm_03_3_one_word_is_information_by_default() {
        let body = "@ db_order.t_orders\n{\"_id\": 1}";
        let found = check("N008", body);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("t_<module>_orders"), "{}", found[0].todo);
        assert_eq!(check_with("N008", "require-module=true", body)[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_03_3_module_and_entity_pass() {
        assert!(check("N008", "@ db_shop.t_user_address\n{\"_id\": 1}").is_empty());
        assert!(check("N008", "@ db_shop.t_pay_log_202403\n{\"_id\": 1}").is_empty());
        assert!(check("N008", "@ db_shop.orders\n{\"_id\": 1}").is_empty());
    }

    #[test]
    fn dm_03_3_dm_03_2_what_is_proposed_is_a_good_name() {
        for (name, proposal) in [
            ("db_shop.t_a b", "`t_shop_a_b`"),
            ("db_shop.t_100%", "`t_shop_100`"),
            ("db_shop.t_Orders", "`t_shop_orders`"),
            ("db_web-shop.t_orders", "`t_web_shop_orders`"),
            ("db_shop.t_订单", "`t_shop_<entity>`"),
        ] {
            let found = check("N008", &format!("@ {name}\n{{\"_id\": 1}}"));
            assert!(found[0].todo.contains(proposal), "{}", found[0].todo);
            if !proposal.contains('<') {
                let proposed = format!("@ db_shop.{}\n{{\"_id\": 1}}", proposal.trim_matches('`'));
                assert!(check("N007", &proposed).is_empty(), "{proposal}");
            }
        }
    }

    #[test]
    fn dm_03_3_a_run_of_numbers_is_left_to_r012() {
        let body: String = (2020..2030)
            .chain(1..6)
            .map(|n| format!("@ db_iot.t_device_{n}\n{{\"_id\": 1}}\n"))
            .collect();
        assert!(check("N008", &body).is_empty());
    }

    #[test]
    fn dm_03_3_a_time_suffix_is_no_entity() {
        let found = check("N008", "@ db_shop.t_log_202403\n{\"_id\": 1}");
        assert!(found[0].todo.contains("`t_shop_log_202403`"), "{}", found[0].todo);
        let found = check("N008", "@ db_shop.t_log_2024_03\n{\"_id\": 1}");
        assert!(found[0].todo.contains("`t_shop_log_202403`"), "{}", found[0].todo);
    }
}
