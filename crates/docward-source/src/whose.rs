//! Whose number something is computed with: several models have a `price`, and arithmetic on that of an order says
//! nothing about that of a cart.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Code, code::Mentioned};

/// How far from a number what it belongs to is spoken of where something is computed with it, in bytes.
const NEAR_OWNER: usize = 1500;

/// Fields that a number may be, by the name it is looked for with.
#[derive(Default)]
pub(super) struct Candidates {
    by_number: BTreeMap<String, Vec<Candidate>>,
}

/// A field of a model.
struct Candidate {
    model: String,
    path: String,
    /// The model's name in small letters, without what frameworks add.
    full: String,
    /// The words of that name, where it has several.
    words: Vec<String>,
    /// Whatever it may be spoken of as.
    owners: BTreeSet<String>,
    /// The object that it is a part of, where that is none of a list.
    part_of: Option<String>,
    /// Files that declare it.
    files: BTreeSet<String>,
}

/// A file that computes.
pub(super) struct Place<'f> {
    /// As reports name it.
    pub(super) file: &'f str,
    /// As it is called within the project, in small letters.
    pub(super) called: &'f str,
    pub(super) text: &'f [u8],
    /// What it speaks of, and where.
    pub(super) owners: &'f [(usize, &'f str)],
}

impl Candidates {
    /// Numbers that models of a project declare.
    pub(super) fn of(code: &Code) -> Self {
        let mut out = Self::default();
        let common = common_words(code);
        for field in Mentioned::numbers(code) {
            let known = out.by_number.entry(Mentioned::number(&field.path)).or_default();
            let same =
                |known: &&mut Candidate| known.model == field.model && known.path == field.path;
            let file = field.place.location.file.clone();
            if let Some(known) = known.iter_mut().find(same) {
                known.files.insert(file);
                continue;
            }
            let part_of = field.path.rsplit_once('.').and_then(|(above, _)| {
                let part = above.rsplit('.').next().unwrap_or(above);
                (!part.ends_with(']')).then(|| Mentioned::plain(part))
            });
            let full = Mentioned::plain(&field.model);
            let mut owners = Mentioned::owners(&field.model, &field.path);
            let around = field.path.split('.').map(Mentioned::plain).collect::<BTreeSet<_>>();
            owners.retain(|one| *one == full || around.contains(one) || !common.contains(one));
            known.push(Candidate {
                model: field.model.clone(),
                path: field.path.clone(),
                words: Mentioned::owners(&field.model, "")
                    .into_iter()
                    .filter(|word| *word != full)
                    .collect(),
                full,
                owners,
                part_of: part_of.filter(|part| part.len() > 2),
                files: BTreeSet::from([file]),
            });
        }
        out
    }

    /// The names that numbers are looked for with.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        self.by_number.keys().map(String::as_str)
    }

    /// Whatever numbers belong to.
    pub(super) fn owners(&self) -> BTreeSet<&str> {
        let all = self.by_number.values().flatten();
        all.flat_map(|candidate| candidate.owners.iter().map(String::as_str)).collect()
    }

    /// Models and paths of which a number may be that something is computed with.
    pub(super) fn whose<'c>(
        &'c self,
        number: &str,
        at: usize,
        place: &Place<'_>,
    ) -> Vec<(&'c str, &'c str)> {
        let all = self.by_number.get(number).map(Vec::as_slice).unwrap_or_default();
        let way = way_to(place.text, at);
        let came_from = origin(place.text, at, (&way, number));
        if way.is_empty() && is_formatted(place.text, at, number) {
            return Vec::new();
        }
        // `order.items[0].price` says whose it is, and so does where `item` came from.
        let said = |owner: &str| way.contains(owner) || came_from.contains(owner);
        let is_said = place.owners.iter().any(|(_, owner)| said(owner));
        let other = !is_said && names_another(&way);
        let spoken: BTreeSet<&str> = place
            .owners
            .iter()
            .filter(|(there, owner)| match is_said {
                true => said(owner),
                false if other => owner.starts_with(last_of(&way)),
                false => there.abs_diff(at) <= NEAR_OWNER || place.called.contains(owner),
            })
            .map(|(_, owner)| *owner)
            .collect();
        let near: BTreeSet<&str> = place
            .owners
            .iter()
            .filter(|(there, owner)| {
                there.abs_diff(at) <= NEAR_OWNER || place.called.contains(owner)
            })
            .map(|(_, owner)| *owner)
            .collect();
        let is_this = matches!(way.split('.').next(), Some("this" | "self"));
        let mut may_be: Vec<&Candidate> = all
            .iter()
            .filter(|one| {
                one.owners.is_empty()
                    || is_this && one.files.contains(place.file)
                    || one.owners.iter().any(|o| spoken.contains(o.as_str()))
            })
            // `openingBalance.amount` is computed with where somebody speaks of the opening balance.
            .filter(|one| one.part_of.as_ref().is_none_or(|part| near.contains(part.as_str())))
            .collect();
        // `this.price` in the file of a model is that of the model, and so is what its functions are given.
        if (way.is_empty() || is_this) && may_be.iter().any(|one| one.files.contains(place.file)) {
            may_be.retain(|one| one.files.contains(place.file));
        }
        // A model that is named before the number rather than one that has a list of the same name. `OrderLine` is named by
        // `order.lines` as well.
        let are_near = |words: &[String]| {
            words.len() > 1 && words.iter().all(|word| near.contains(word.as_str()))
        };
        let is_named = |one: &Candidate| one.full.len() > 2 && said(&one.full);
        if may_be.iter().any(|one| is_named(one)) {
            may_be.retain(|one| {
                is_named(one) || are_near(&one.words) && one.words.iter().any(|word| said(word))
            });
        }
        let is_spoken_of = |one: &Candidate| {
            one.owners.is_empty()
                || is_said && one.words.iter().any(|word| said(word))
                || near.contains(one.full.as_str())
                || one.full.len() > 2 && place.called.contains(&one.full)
                || are_near(&one.words)
        };
        if may_be.iter().any(|one| is_spoken_of(one)) {
            may_be.retain(|one| is_spoken_of(one));
        }
        may_be.into_iter().map(|one| (one.model.as_str(), one.path.as_str())).collect()
    }
}

/// Words that names of many models begin with while no model is called that, such as the name of the project: who says
/// one speaks of none of them.
fn common_words(code: &Code) -> BTreeSet<String> {
    const MANY: usize = 4;
    let models: BTreeSet<&str> = code.fields.iter().map(|field| field.model.as_str()).collect();
    let names: BTreeSet<String> = models.iter().map(|model| Mentioned::plain(model)).collect();
    let words: BTreeSet<String> =
        models.iter().flat_map(|model| Mentioned::owners(model, "")).collect();
    let begun = |word: &String| names.iter().filter(|name| name.starts_with(word)).count();
    words.into_iter().filter(|word| !names.contains(word) && begun(word) >= MANY).collect()
}

/// What a member is of, in small letters: `order.items[0]` before `price`.
fn way_to(text: &[u8], at: usize) -> String {
    /// Nobody writes longer ways.
    const LONGEST: usize = 80;
    let before = &text[at.saturating_sub(LONGEST)..at];
    let is_way = |b: &u8| b.is_ascii_alphanumeric() || b"_.[]?!".contains(b);
    let way = before.iter().rev().take_while(|b| is_way(b)).count();
    String::from_utf8_lossy(&before[before.len() - way..]).to_ascii_lowercase()
}

/// Where what a way begins with came from, in small letters: `orders` of `orders.reduce((sum, o) => sum + o.price)`, and
/// for operators of updates and pipelines what they are given to.
fn origin(text: &[u8], at: usize, (way, number): (&str, &str)) -> String {
    /// Nobody looks further back for what a short name stands for.
    const FAR: usize = 800;
    let before = &text[at.saturating_sub(FAR)..at];
    let before = String::from_utf8_lossy(before).to_ascii_lowercase();
    let statement = way.is_empty().then(|| of_statement(&before)).flatten();
    if let Some(statement) = statement {
        return statement;
    }
    let root = match way.is_empty() {
        true => number,
        false => way.split(['.', '[', '?', '!']).next().unwrap_or_default(),
    };
    if root.is_empty() || matches!(root, "this" | "self" | "req" | "res") {
        return String::new();
    }
    let behind = &text[at..text.len().min(at + 160)];
    let behind = String::from_utf8_lossy(behind).to_ascii_lowercase();
    // `sum(o.price for o in orders)`.
    let line = behind.split('\n').next().unwrap_or_default();
    if let Some((_, list)) = line.split_once(&format!("for {root} in ")) {
        return first_way(list);
    }
    let mut end = before.len() - way.len().min(before.len());
    while let Some(from) = before.get(..end).and_then(|head| head.rfind(root)) {
        end = from;
        let (head, tail) = (&before[..from], &before[from + root.len()..]);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        if head.ends_with(|c| is_part(c) || c == '.') || tail.starts_with(is_part) {
            continue;
        }
        if let Some(found) = bound(head, tail) {
            return found;
        }
    }
    String::new()
}

/// What a name is bound to where it stands between two texts.
fn bound(head: &str, tail: &str) -> Option<String> {
    let line = tail.split('\n').next().unwrap_or_default();
    let rest = line.trim_start();
    for sign in ["of ", "in ", ": "] {
        let is_loop = sign != ": " || head.trim_end().rsplit('\n').next()?.contains("for (");
        if let Some(list) = rest.strip_prefix(sign).filter(|_| is_loop) {
            return Some(first_way(list));
        }
    }
    // `const {price} = product`.
    let listed = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || ", _:".contains(c));
    let unpacked = listed.strip_prefix('}').map(str::trim_start).filter(|r| r.starts_with("= "));
    let rest = unpacked.unwrap_or(rest);
    for sign in [":=", "="] {
        let is_given = |value: &&str| !value.starts_with(['=', '>']);
        if let Some(value) = rest.strip_prefix(sign).filter(is_given) {
            // What is given may stand on the next line.
            let value = match value.trim().is_empty() {
                true => tail[line.len()..].trim_start(),
                false => value.trim_start(),
            };
            let value = value.trim_start_matches("await ").trim_start_matches("range ");
            return Some(first_way(value.trim_start_matches(['(', ' '])));
        }
    }
    // A function that is handed over: `orders.reduce((sum, o) => …)`, `orders.map(o => …)`.
    let names = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || ", _".contains(c));
    let arrow = names.trim_start_matches([')', ' ']);
    if !arrow.starts_with("=>") {
        return None;
    }
    let head = head.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || ", _".contains(c));
    Some(last_way(head.trim_end_matches('(')))
}

/// Whether a number is what a function is given that writes any amount as text: `function formatPrice(price)`.
fn is_formatted(text: &[u8], at: usize, number: &str) -> bool {
    const FAR: usize = 600;
    let before = &text[at.saturating_sub(FAR)..at];
    let before = String::from_utf8_lossy(before).to_ascii_lowercase();
    let declared = ["def ", "function ", "const format", "func "];
    let last = declared.iter().filter_map(|word| Some((before.rfind(word)?, word))).max();
    let Some((from, word)) = last else { return false };
    let behind = before[from + word.len()..].trim_start_matches('_');
    let (name, given) = behind.split_once('(').unwrap_or_default();
    let given = given.split(')').next().unwrap_or_default();
    (word.ends_with("format") || name.starts_with("format"))
        && given.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|one| one == number)
}

/// The way that a text begins with, as far as its first call.
fn first_way(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_alphanumeric() || "_.?![]".contains(*c)).collect()
}

/// The way that a text ends with; calls in between belong to it: `orders.filter(…).map`.
fn last_way(text: &str) -> String {
    let mut depth = 0_usize;
    let is_way = |c: &char| {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return false,
            '(' => depth -= 1,
            _ => {}
        }
        depth > 0 || c.is_ascii_alphanumeric() || "_.?!()[]".contains(*c)
    };
    let way: String = text.chars().rev().take_while(is_way).collect();
    way.chars().rev().collect()
}

/// What an update or a pipeline is of whose operator stands before the end of a text.
fn of_statement(before: &str) -> Option<String> {
    const STATEMENTS: [&str; 10] = [
        ".aggregate(",
        ".updateone(",
        ".updatemany(",
        ".findoneandupdate(",
        ".findbyidandupdate(",
        ".findonebyidandupdate(",
        ".update_one(",
        ".update_many(",
        ".find_one_and_update(",
        ".update(",
    ];
    let statement = STATEMENTS.iter().filter_map(|call| before.rfind(call)).max()?;
    let within = &before[statement..];
    // It has not ended yet.
    let open = within.matches('(').count() > within.matches(')').count();
    let has_operator = within.contains("$inc")
        || ["$sum", "$add", "$sub", "$mul", "$div", "$avg"].iter().any(|o| within.contains(o));
    (open && has_operator).then(|| last_way(&before[..statement]))
}

/// The last name of a way: `item` of `cart.items[0].item.`.
fn last_of(way: &str) -> &str {
    let way = way.trim_end_matches(['.', '?', '!']);
    let last = way.rsplit('.').next().unwrap_or(way);
    last.split('[').next().unwrap_or(last)
}

/// Whether the last name of a way says whose a number is, and not just that it is something's.
fn names_another(way: &str) -> bool {
    const ANYTHING: [&str; 60] = [
        "this", "self", "item", "items", "elem", "element", "obj", "object", "doc", "document",
        "docs", "data", "row", "record", "res", "result", "results", "acc", "sum", "total", "curr",
        "cur", "current", "prev", "value", "val", "entry", "body", "req", "request", "params",
        "input", "form", "formdata", "values", "state", "props", "payload", "details", "detail",
        "info", "new", "old", "existing", "updated", "update", "updates", "saved", "found", "dto",
        "model", "entity", "response", "resp", "last", "first", "next", "one", "single",
        "selected",
    ];
    let last = last_of(way);
    last.len() > 3 && !ANYTHING.contains(&last)
}

#[cfg(test)]
mod tests {
    use docward_model::{
        BsonType, Location,
        code::{self, DeclaredField},
    };

    use super::{
        super::{FileKind, Language, Sought},
        *,
    };

    fn field(model: &str, path: &str) -> DeclaredField {
        let file = format!("models/{model}.js");
        DeclaredField {
            place: code::Place { location: Location { file, line: 1, column: 1 }, function: None },
            model: model.to_owned(),
            collection: None,
            path: path.to_owned(),
            types: vec![BsonType::Double],
            meant: None,
            allowed: Vec::new(),
            made_by: None,
            generated: false,
            max_items: None,
            only_read: false,
        }
    }

    /// Models whose number of a name a file computes with, as far as one can tell.
    fn models(fields: &[(&str, &str)], file: &str, text: &str) -> Vec<String> {
        let fields = fields.iter().map(|(model, path)| field(model, path)).collect();
        let code = Code { fields, ..Code::default() };
        let sought = Sought::of(&code).expect("something to look for");
        let kind = FileKind::Code(Language::JavaScript);
        let found = sought.look(file, file, kind, text.as_bytes());
        found.computed.into_keys().map(|(model, _)| model).collect()
    }

    #[test]
    fn dm_09_2_what_is_computed_with_is_of_the_model_that_is_spoken_of() {
        let shop = [("Order", "items[].price"), ("Cart", "items[].price"), ("Plan", "price")];
        for (text, of) in [
            ("const sum = order.items.reduce((s, item) => s + item.price * n, 0);", "Order"),
            ("for (const one of cart.items) { sum += one.price * 2; }", "Cart"),
            ("const p = await Plan.findById(id);\n// carts\nx = p.price * 3;", "Plan"),
            ("Order.aggregate([{ $group: { s: { $sum: '$price' } } }]); // cart", "Order"),
            ("const { price } = plan;\nconst y = price * 12; // cart, order", "Plan"),
            ("const price =\n  order.price;\ncart.say(price * 2)", "Order"),
        ] {
            assert_eq!(models(&shop, "src/a.js", text), [of], "{text}");
        }
        // The file speaks of orders, and both have a list of this name.
        let text = "items.forEach(item => { total += item.price * item.quantity; });";
        assert_eq!(models(&shop, "controllers/orderController.js", text), ["Order"]);
        // Its own method.
        let text = "schema.methods.f = function (cart) { return this.price * 2; }; // order";
        assert_eq!(models(&shop, "models/Plan.js", text), ["Plan"]);
    }

    #[test]
    fn dm_09_2_a_part_of_an_object_is_computed_with_where_that_is_spoken_of() {
        let fields = [("User", "openingBalance.amount"), ("Wallet", "amount")];
        let text = "async function pay(user, amount) { wallet.say(user.n - amount * 2); }";
        assert_eq!(models(&fields, "src/pay.js", text), ["Wallet"]);
        let text = "sum = user.openingBalance.amount * 2;";
        assert_eq!(models(&fields, "src/pay.js", text), ["User"]);
    }

    #[test]
    fn dm_09_2_scripts_prose_and_functions_that_format_say_nothing() {
        let fields = [("Job", "wage")];
        let none: [&str; 0] = [];
        for (file, text) in [
            ("scripts/fill.js", "job.wage = 500 + i * 100; x = job.wage * 2;"),
            ("src/words.js", "export const job = { wage_budget: \"Wage / Budget (per job)\" };"),
            ("src/Job.jsx", "  {/* Right side: wage + button of the job */}"),
            ("src/job.js", "function formatWage(wage) { return (wage / 100).toFixed(2); }"),
            ("src/job.js", "job.wage = Math.max(0, Number(body.wage));"),
        ] {
            assert_eq!(models(&fields, file, text), none, "{text}");
        }
        assert_eq!(models(&fields, "src/job.js", "const pay = `${job.wage * 2}`;"), ["Job"]);
    }

    #[test]
    fn dm_09_2_the_word_that_all_models_begin_with_names_none() {
        let all = ["AcmeShop", "AcmePoint", "AcmeLevel", "AcmeProduct"];
        let fields = all.map(|model| (model, "shownPrice"));
        let text = "// acme\nconst shownPrice = rows[0].price;\nconst x = shownPrice * 2;";
        assert!(models(&fields, "src/auction.js", text).is_empty());
    }

    #[test]
    fn dm_09_2_the_last_name_of_a_way_says_whose_a_number_is() {
        for (way, last) in [
            ("cart.items[0].item.", "item"),
            ("order.items[0].", "items"),
            ("seat?.", "seat"),
            ("", ""),
        ] {
            assert_eq!(last_of(way), last, "{way}");
        }
        assert!(names_another("courses[0].seat."));
        assert!(!names_another("seats[0].item."));
    }
}
