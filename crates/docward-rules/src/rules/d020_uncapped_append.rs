//! DM-08.2: statements that lengthen an array without a bound.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Collection, Evidence, Level, Severity,
    code::{Append, AppendKind, Cap, Code, Origin},
};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        growth::{
            arrays::{self, Limits, Owner},
            patterns,
        },
    },
};

declare_rule! {
    /// # Uncapped append
    ///
    /// ## What it checks
    /// Reports statements that add to an array of a stored document without a bound:
    ///
    /// - `$push`, `$addToSet`, `$concatArrays` and update builders;
    /// - functions of the project that receive a field and a value;
    /// - elements added to a document that is loaded and saved.
    ///
    /// It is a warning when the code shows that the array keeps growing:
    ///
    /// | the added element | the array grows with |
    /// |---|---|
    /// | identifies a user | the users |
    /// | holds the current time or a new id | the calls |
    /// | refers to a document stored with it | those documents |
    /// | is a document that callers send for one which they select and do not own | the requests |
    /// | is added in a loop | the input |
    ///
    /// `$pull` of one element bounds nothing. Other appends need `--select pedantic`.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - values that stand in the code, or that are looked up in a list there
    /// - a bound in the statement or function: `$slice`, a filter that asks for room, a test of the length
    /// - a document that the same function makes, or of which there is one for each period (`upsert`)
    /// - an array that the model or `docward.toml` bounds, or that the schema does not declare
    /// - an array whose growth the data show: `unbounded-array` reports it
    /// - an object of a caller with its own `save`, if no model declares the array
    ///
    /// Only with `--select pedantic`:
    /// - a statement that records a change of a field which the same update sets, as in a status history
    /// - an array that another statement empties or cuts
    /// - documents that are found by their day
    /// - code that never runs, and scripts that are started by hand
    ///
    /// ## Why it matters
    /// The array grows with every call until the document reaches 16 MB and no write succeeds. Long before
    /// that, each read and each write carries all of it.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const Post = require('./models/post');
    /// app.post('/posts/:id/comments', async (req, res) => {
    ///   const comment = {author: req.user.id, text: req.body.text, at: new Date()};
    ///   await Post.updateOne({_id: req.params.id}, {$push: {comments: comment}});
    ///   res.sendStatus(201);
    /// });
    /// ```
    /// ```javascript,clean
    /// const Post = require('./models/post');
    /// app.post('/posts/:id/comments', async (req, res) => {
    ///   const comment = {author: req.user.id, text: req.body.text, at: new Date()};
    ///   await Comment.create({post: req.params.id, ...comment});
    ///   await Post.updateOne({_id: req.params.id},
    ///     {$push: {latestComments: {$each: [comment], $slice: -10}}, $inc: {commentCount: 1}});
    ///   res.sendStatus(201);
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Only the last ones matter: `$push` with `$each` and `$slice: -N`. Each is an entity of its own: a
    /// collection with a reference to the parent, and a count on the parent. Measurements: a time series, or
    /// one document per hour. A few giants: overflow pages.
    ///
    /// ## When to ignore it
    /// The application bounds it elsewhere; say so with `[[collections.bounded]]` in `docward.toml`.
    D020, "uncapped-append",
    level: Prohibited,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["DM-08.2", "DM-08.4", "CK-4", "CK-8", "AP-S2.1", "AP-S4.1", "AP-S0.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path", "statements"],
    check: Deployment(check),
}

/// A case in which an append is not reported, or only to users who select `pedantic`.
struct Exception {
    /// The wording of the exception on the rule page.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the page"))]
    text: &'static str,
    is_silent: bool,
    applies: fn(&Site<'_>) -> bool,
}

const EXCEPTIONS: [Exception; 10] = [
    Exception {
        text: "values that stand in the code, or that are looked up in a list there",
        is_silent: true,
        applies: |site| site.append.cap == Cap::Constant || site.is_enumerated(),
    },
    Exception {
        text: "a bound in the statement or function: `$slice`, a filter that asks for room, a test of the length",
        is_silent: true,
        applies: |site| {
            matches!(site.append.cap, Cap::Slice(_) | Cap::Length | Cap::Replaced | Cap::Unknown)
        },
    },
    Exception {
        text: "a document that the same function makes, or of which there is one for each period (`upsert`)",
        is_silent: true,
        applies: |site| matches!(site.append.cap, Cap::NewDocument | Cap::Period),
    },
    Exception {
        text: "an array that the model or `docward.toml` bounds, or that the schema does not declare",
        is_silent: true,
        applies: |site| {
            site.is_declared
                || site.found.is_not_stored(site.append.collection.as_deref(), &site.append.path)
        },
    },
    Exception {
        text: "an array whose growth the data show: `unbounded-array` reports it",
        is_silent: true,
        applies: |site| site.is_shown_by_data,
    },
    Exception {
        text: "an object of a caller with its own `save`, if no model declares the array",
        is_silent: true,
        applies: |site| {
            let array = site.append.path.as_str();
            site.append.from_caller
                && !site.found.is_declared(array)
                && !site.found.schema_arrays.contains(array)
        },
    },
    Exception {
        text: "a statement that records a change of a field which the same update sets, as in a status history",
        is_silent: false,
        applies: |site| site.append.records_change,
    },
    Exception {
        text: "an array that another statement empties or cuts",
        is_silent: false,
        applies: |site| site.is_cut_elsewhere(),
    },
    Exception {
        text: "documents that are found by their day",
        is_silent: false,
        applies: |site| site.is_of_a_day(),
    },
    Exception {
        text: "code that never runs, and scripts that are started by hand",
        is_silent: false,
        applies: |site| {
            let place = &site.append.place;
            site.found.is_never_run(place) || site.found.is_hand_run(&place.location.file)
        },
    },
];

/// A statement that lengthens an array, with the facts around it.
struct Site<'a> {
    found: &'a Code,
    append: &'a Append,
    is_declared: bool,
    is_shown_by_data: bool,
}

/// The assessment of an append.
struct Judged<'a> {
    append: &'a Append,
    /// The event with which the array grows; `None` if it is not proven.
    growth: Option<&'static str>,
    /// Whether another statement of the file truncates the array.
    is_sliced_elsewhere: bool,
}

impl Judged<'_> {
    fn severity(&self) -> Severity {
        if self.is_sliced_elsewhere { Severity::Error } else { Severity::Warn }
    }

    fn is_pedantic(&self) -> bool {
        self.growth.is_none() && !self.is_sliced_elsewhere
    }
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut arrays: BTreeMap<(&str, String), Vec<Judged<'_>>> = BTreeMap::new();
    for append in &found.appends {
        let site = Site {
            found,
            append,
            is_declared: is_declared(append, evidence, cx),
            is_shown_by_data: is_shown_by_data(append, evidence, cx),
        };
        let mut exceptions = EXCEPTIONS.iter().filter(|exception| (exception.applies)(&site));
        let exception = exceptions.next();
        if exception.is_some_and(|exception| exception.is_silent) {
            continue;
        }
        let is_sliced_elsewhere = site.is_sliced_beside();
        let growth = site.growth().filter(|_| exception.is_none());
        let judged = Judged { append, growth, is_sliced_elsewhere };
        let alone = draft(evidence, &judged, &[]);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        arrays.entry(array_of(found, append)).or_default().push(judged);
    }
    for mut statements in arrays.into_values() {
        statements.sort_by(|a, b| {
            let order =
                |judged: &Judged<'_>| (judged.is_pedantic(), judged.append.place.location.clone());
            b.severity().cmp(&a.severity()).then_with(|| order(a).cmp(&order(b)))
        });
        if let Some((first, others)) = statements.split_first() {
            cx.report(draft(evidence, first, others));
        }
    }
}

/// Identifies an array by its path and its collection, or its file if the collection is unknown. A statement with an
/// unknown collection belongs to the only collection that has an array of that name in the same file.
fn array_of<'a>(found: &'a Code, append: &'a Append) -> (&'a str, String) {
    let path = code::plain_path(&append.path);
    let file = append.place.location.file.as_str();
    let known = append.collection.as_deref().or_else(|| {
        let beside = found.appends.iter().filter(|other| {
            other.place.location.file == file && code::plain_path(&other.path) == path
        });
        let of: BTreeSet<&str> = beside.filter_map(|o| o.collection.as_deref()).collect();
        of.first().copied().filter(|_| of.len() == 1)
    });
    (known.unwrap_or(file), path)
}

impl Site<'_> {
    /// The event with which the array grows, as far as the code proves it.
    fn growth(&self) -> Option<&'static str> {
        let value = self.resolved(&self.append.value, 0);
        let selected_by = self.resolved(&self.append.selected_by, 0);
        let users = |origins: &BTreeSet<Origin>| -> BTreeSet<String> {
            let user = |origin: &Origin| match origin {
                Origin::User(path) => Some(path.clone()),
                _ => None,
            };
            origins.iter().filter_map(user).collect()
        };
        let owners = users(&selected_by);
        let has = |wanted: Origin| value.contains(&wanted);
        let from_callers = |origins: &BTreeSet<Origin>| {
            origins.iter().any(|o| matches!(o, Origin::Request | Origin::Parameter { .. }))
        };
        // Callers load the document that they pass.
        let is_handed_in = self.append.from_caller && selected_by.contains(&Origin::Loaded);
        if has(Origin::Time) {
            Some("each call adds an element with its own time")
        } else if users(&value).difference(&owners).next().is_some() {
            Some("each user adds an element")
        } else if has(Origin::Stored) {
            Some("each document that is stored adds an element")
        } else if has(Origin::NewId) {
            Some("each call adds an element with a new id")
        } else if self.append.is_unique {
            None
        } else if self.append.adds_document
            && owners.is_empty()
            && from_callers(&value)
            && (from_callers(&selected_by) || is_handed_in)
        {
            Some("each call adds a document")
        } else if self.is_in_loop() && value.iter().any(|origin| *origin != Origin::Constant) {
            Some("the append runs in a loop")
        } else {
            None
        }
    }

    /// Replaces parameters in origins by the arguments of the callers.
    fn resolved(&self, origins: &BTreeSet<Origin>, steps: u32) -> BTreeSet<Origin> {
        let mut out = BTreeSet::new();
        for origin in origins {
            let Origin::Parameter { function, name, index, is_part } = origin else {
                out.insert(origin.clone());
                continue;
            };
            let passed = self.found.calls.iter().filter(|call| call.callee == *function);
            let passed = passed.filter_map(|call| {
                let by_name = call.arguments.iter().find(|(own, _)| own.as_ref() == Some(name));
                let given =
                    by_name.or_else(|| call.arguments.get(*index).filter(|(own, _)| own.is_none()));
                given.map(|(_, origins)| origins)
            });
            let before = out.len();
            for origins in passed.filter(|_| steps < 3) {
                let passed = self.resolved(origins, steps + 1).into_iter();
                out.extend(passed.map(|origin| if *is_part { origin.part() } else { origin }));
            }
            if out.len() == before {
                out.insert(origin.clone());
            }
        }
        out
    }

    /// Whether the statement, or a call of its function, is in a loop.
    fn is_in_loop(&self) -> bool {
        let function = self.append.place.function.as_deref();
        self.append.in_loop
            || self.found.calls.iter().any(|call| call.in_loop && Some(&*call.callee) == function)
    }

    /// Whether the model allows only a few values, each of which occurs once.
    fn is_enumerated(&self) -> bool {
        let path = code::plain_path(&self.append.path);
        self.append.is_unique
            && self.found.fields.iter().any(|field| {
                !field.allowed.is_empty()
                    && field.path.replace("[]", "") == path
                    && self.is_of(&field.model, field.collection.as_deref())
            })
    }

    fn is_of(&self, model: &str, collection: Option<&str>) -> bool {
        let own = self.append.collection.as_deref();
        own.is_some_and(|own| own == model || Some(own) == collection)
    }

    fn is_path_known(&self) -> bool {
        !self.append.path.contains(['*', '['])
    }

    /// Whether another statement of the same file truncates the same array.
    fn is_sliced_beside(&self) -> bool {
        self.found.appends.iter().any(|other| {
            other.path == self.append.path
                && self.is_path_known()
                && other.collection == self.append.collection
                && other.place.location.file == self.append.place.location.file
                && matches!(other.cap, Cap::Slice(_))
        })
    }

    fn is_cut_elsewhere(&self) -> bool {
        let path = code::plain_path(&self.append.path);
        let own = &self.append.collection;
        let fits = |collection: &Option<String>, other: &str| {
            code::plain_path(other) == path
                && (collection.is_none() || own.is_none() || collection == own)
        };
        let cuts = |other: &&Append| matches!(other.cap, Cap::Slice(_) | Cap::Replaced);
        let mut popped = self.found.set_paths.iter().filter(|set| set.operator == "$pop");
        self.is_path_known()
            && (self.found.emptied.iter().any(|(collection, other)| fits(collection, other))
                || popped.any(|set| fits(&set.collection, &set.path))
                || self.found.appends.iter().filter(cuts).any(|o| fits(&o.collection, &o.path)))
    }

    /// Whether documents of the collection are found by a day and an owner: each contains the elements of that day.
    fn is_of_a_day(&self) -> bool {
        self.append.collection.as_ref().is_some_and(|collection| {
            self.found.day_keys.iter().any(|(of, name)| of == collection && !name.is_empty())
        })
    }
}

/// Whether the documents show that the array grows: then code and data are one finding of D008.
fn is_shown_by_data(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let named = |collection: &&Collection| {
        append.collection.as_deref() == Some(collection.namespace.collection.as_str())
    };
    evidence.collections.iter().filter(named).any(|collection| {
        let Some(profile) = patterns::user_documents(collection) else { return false };
        let limits = Limits::of(cx.settings(), &collection.namespace);
        let path = code::plain_path(&append.path);
        profile.fields.iter().filter(|field| field.path.as_str().replace("[]", "") == path).any(
            |field| {
                let owner =
                    arrays::owner(cx.settings(), evidence, collection, profile, field, &limits);
                matches!(owner, Some(Owner::Unbounded(_)))
            },
        )
    })
}

/// Whether the settings or the model bound the array.
fn is_declared(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let by_settings = cx.settings().bounded_arrays.iter().any(|(pattern, path, _)| {
        *path == append.path
            && append.collection.as_ref().is_none_or(|collection| {
                pattern.matches(collection) || pattern.as_str().ends_with(&format!(".{collection}"))
            })
    });
    let fields = evidence.code.iter().flat_map(|code| &code.fields);
    by_settings
        || fields.into_iter().any(|field| {
            field.path == append.path
                && field.max_items.is_some()
                && append.collection.as_ref().is_some_and(|collection| {
                    *collection == field.model || field.collection.as_ref() == Some(collection)
                })
        })
}

fn draft(evidence: &Evidence, first: &Judged<'_>, others: &[Judged<'_>]) -> docward_model::Draft {
    let append = first.append;
    let path = match append.path.as_str() {
        "*" => "an array whose name is computed".to_owned(),
        path if path.starts_with('[') => {
            format!("the array named by `{}`", path.trim_matches(['[', ']']))
        }
        path => format!("`{path}`"),
    };
    let of = code::of(append.collection.as_deref());
    let because = match first.growth {
        _ if first.is_sliced_elsewhere => {
            ": another statement limits its length with $slice, this one does not".to_owned()
        }
        Some(growth) => format!(": {growth}"),
        None => String::new(),
    };
    let more = match others.len() {
        0 => String::new(),
        1 => "; 1 other statement does the same".to_owned(),
        n => format!("; {n} other statements do the same"),
    };
    let actor = match append.kind {
        AppendKind::Document => "a change to a loaded document",
        kind => kind.text(),
    };
    let what = format!("{actor} appends to {path}{of} without a limit{because}{more}");
    let todo = match append.kind {
        AppendKind::Push | AppendKind::Concat | AppendKind::Document => format!(
            "if only the newest elements matter, use {{$push: {{{}: {{$each: […], $slice: -100}}}}}}; otherwise store the elements in a separate collection that refers to the parent",
            if append.path == "*" { "field" } else { &append.path }
        ),
        AppendKind::AddToSet => "store the pairs in a separate collection with a unique index on both ids, or test the array's length in the filter".to_owned(),
    };
    let draft = code::draft(
        evidence,
        &append.place,
        &format!("{} {}", append.kind.text(), append.path),
        what,
        "the array can grow until the document reaches 16 MB and every append fails; until then, reads and writes get slower",
        todo,
    )
    .data("path", append.path.as_str())
    .severity(first.severity())
    .data("statements", others.len() as u64 + 1)
    .level(Level::Prohibited)
    .locations(others.iter().map(|other| other.append.place.location.clone()));
    if first.is_pedantic() { draft.pedantic() } else { draft }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;

    /// A login log without `$slice` is reported with its line; a truncated one is not.
    #[test]
    fn ap_s0_2_a_login_log_that_is_not_cut_is_reported() {
        let source = |push: &str| {
            format!(
                "source login.js\nconst User = require('./models/user');\napp.post('/login', async (req, res) => {{\n  await User.updateOne({{_id: req.user.id}}, {{$push: {{loginLogs: {push}}}}});\n}});\n"
            )
        };
        let found = check("D020", &source("{at: new Date(), ip: req.ip}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].cites("AP-S0.2"), "{found:?}");
        let place = found[0].location.as_ref().expect("a place");
        assert_eq!((place.file.as_str(), place.line), ("login.js", 3));
        let cut = source("{$each: [{at: new Date(), ip: req.ip}], $slice: -10}");
        assert!(check("D020", &cut).is_empty());
    }

    #[test]
    fn the_page_lists_the_exceptions() {
        let page = D020.meta.section("Exceptions").expect("a section");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let bullets = page.matches("- ").count();
        assert_eq!(bullets, EXCEPTIONS.len(), "{page}");
        assert!(EXCEPTIONS.iter().all(|exception| page.contains(exception.text)), "{page}");
        assert!(D020.meta.section("What it checks").is_some_and(|text| {
            text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count() <= 120
        }));
    }
}
