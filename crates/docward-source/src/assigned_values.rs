//! What code gives to fields, where that says more than their type: amounts in the smallest unit, counts, days.

use docward_model::code::WholeUnits;

use super::{
    Scan,
    calls::WRITES,
    ir::{Call, Entry, Expr, Kind, ScopeId, StatementKind},
    meant::{braces, is_day, is_of_smallest_unit, names_smallest_unit},
};

impl<'u, 't> Scan<'u, 't> {
    /// `Purchase.create({amount: price * 100})`, `new Purchase({amount: toCents(price)})`: the field counts the
    /// smallest unit.
    pub(super) fn whole_units(&mut self, call: &'u Call<'t>, method: &str, scope: ScopeId) {
        if method.to_ascii_lowercase().replace('_', "").contains("tosatoshi") {
            self.out.code.whole_units.push(WholeUnits::Project);
            return;
        }
        self.charged(call, scope);
        let of = match call.receiver() {
            Some(of) if WRITES.contains(&method) => {
                self.values.target(of, scope).map(|target| target.collection)
            }
            None if self.values.known.models.contains_key(method) => {
                Some(self.values.known.collection_of(method))
            }
            _ => None,
        };
        let Some(of) = of else { return };
        let mut fields = Vec::new();
        for arg in &call.args {
            for field in self.values.document(&arg.value, scope).unwrap_or_default() {
                if ["$set", "$inc", "$setOnInsert"].iter().any(|operator| field.is(operator)) {
                    fields
                        .extend(self.values.document(field.value, field.scope).unwrap_or_default());
                } else {
                    fields.push(field);
                }
            }
        }
        for field in fields {
            let Some(name) = &field.name else { continue };
            let (value, _) = self.values.follow(field.value, field.scope);
            if is_whole_amount(value) || is_whole_amount(field.value) {
                let name = name.rsplit('.').next().unwrap_or(name).to_owned();
                self.out.code.whole_units.push(WholeUnits::Field { of: of.clone(), name });
            }
        }
    }

    /// `Report.findOne({userId, visitDate})`: one document is found by a day and by what it is of.
    pub(super) fn found_by_day(&mut self, call: &'u Call<'t>, method: &str, scope: ScopeId) {
        if !matches!(
            method,
            "findOne"
                | "find_one"
                | "FindOne"
                | "findOneAndUpdate"
                | "find_one_and_update"
                | "FindOneAndUpdate"
        ) {
            return;
        }
        let Some(filter) = call.positional(0).and_then(|arg| self.values.document(arg, scope))
        else {
            return;
        };
        if filter.len() < 2 {
            return;
        }
        let of = call.receiver().and_then(|of| self.values.target(of, scope));
        let Some(of) = of.map(|target| target.collection) else { return };
        for field in filter {
            let is_range = self.values.document(field.value, field.scope).is_some();
            if let Some(name) = field.name.filter(|name| !is_range && is_day(name)) {
                self.out.code.day_keys.insert((of.clone(), name));
            }
        }
    }

    /// `stripe.prices.create({unit_amount: price})`: what is handed to Stripe as it is counts the smallest unit.
    fn charged(&mut self, call: &'u Call<'t>, scope: ScopeId) {
        for arg in &call.args {
            let mut found = Vec::new();
            arg.value.visit(&mut |expr| {
                if let Kind::Object(entries) = &expr.kind {
                    let named = |entry: &&Entry<'t>| {
                        matches!(entry.name(), Some("unit_amount" | "unitAmount"))
                    };
                    found.extend(entries.iter().find(named));
                }
            });
            for entry in found {
                let (value, _) = self.values.follow(&entry.value, scope);
                let names = [entry.value.last_name(), value.last_name()];
                for name in names.into_iter().flatten().filter(|name| !name.starts_with("unit")) {
                    self.out.code.whole_units.push(WholeUnits::Charged { name: name.to_owned() });
                }
            }
        }
    }

    /// `{startDate: new Date().toISOString()}`, `job.start_date = datetime.now().isoformat()`: a time as text, where a
    /// day was not meant.
    pub(super) fn stamped(&mut self) {
        let unit = self.values.unit;
        let mut stamped = Vec::new();
        unit.each(|_, expr| {
            if let Kind::Object(entries) = &expr.kind {
                let now = entries.iter().filter(|entry| self.is_present(&entry.value));
                stamped.extend(now.filter_map(Entry::name).map(str::to_owned));
            }
            let named = expr.call().into_iter().flat_map(|call| &call.args);
            let now = named.filter(|arg| arg.name.is_some() && self.is_present(&arg.value));
            stamped.extend(now.filter_map(|arg| arg.name).map(str::to_owned));
        });
        for statement in &unit.statements {
            if let StatementKind::Assign { target, value, .. } = &statement.kind
                && let Kind::Member(_, name) = &target.kind
                && self.is_present(value)
            {
                stamped.push((*name).to_owned());
            }
        }
        self.out.code.stamped.extend(stamped);
    }

    /// Whether an expression makes a text of the present time, and more than its day.
    fn is_present(&self, value: &Expr<'t>) -> bool {
        /// What is longer does something else.
        const LONGEST: usize = 120;
        const NOW: [&str; 8] = [
            "new Date()",
            "now(",
            "Now(",
            "moment()",
            "dayjs()",
            "Date.now",
            "timezone.now",
            "DateTime.Now",
        ];
        const AS_TEXT: [&str; 8] = [
            "toISOString",
            "isoformat",
            "strftime",
            "Format(",
            "format(",
            "toString",
            "toLocaleString",
            "str(",
        ];
        const OF_DAY: [&str; 8] = [
            ".split(",
            "slice(",
            "substring(",
            "substr(",
            "LocalDate.",
            ".date()",
            "[:10]",
            "today(",
        ];
        if !matches!(value.kind, Kind::Call(_)) {
            return false;
        }
        let text = self.text.get(value.at..value.end).unwrap_or_default();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let is_formatted_day = {
            let lower = text.to_ascii_lowercase();
            (lower.contains("%d") || lower.contains("dd") || lower.contains("2006-01-02"))
                && !["%h", "%x", "hh", "15:04"].iter().any(|hour| lower.contains(hour))
        };
        text.len() <= LONGEST && has(&NOW) && has(&AS_TEXT) && !has(&OF_DAY) && !is_formatted_day
    }

    /// `bucket.tagsAmount = bucket.tags.length`, `user.visitsAmount += 1`: how many there are. `wallet.balance +=
    /// parseInt(paid)`, and nothing else in the file: whole amounts.
    pub(super) fn assigned(&mut self) {
        let unit = self.values.unit;
        let mut whole: Vec<(ScopeId, usize, String, &'t str)> = Vec::new();
        let mut counted: Vec<(ScopeId, usize, Option<String>, &'t str)> = Vec::new();
        let mut broken = Vec::new();
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds } = &statement.kind else { continue };
            let Kind::Member(of, name) = &target.kind else { continue };
            let (value, _) = self.values.follow(value, statement.scope);
            if is_count(name, value, *adds) {
                counted.push((statement.scope, target.at, of.path(), *name));
            } else if is_whole_amount(value) {
                whole.extend(of.path().map(|root| (statement.scope, target.at, root, *name)));
            } else {
                broken.push(*name);
            }
        }
        for (scope, at, root, name) in counted {
            let of = root.and_then(|root| self.loaded_from(&root, at, scope)).and_then(|l| l.0);
            if !broken.contains(&name) {
                let name = name.to_owned();
                self.out.code.whole_units.push(WholeUnits::Count { of, name });
            }
        }
        for (scope, at, root, name) in whole {
            let of = self.loaded_from(&root, at, scope).and_then(|loaded| loaded.0);
            if let Some(of) = of.filter(|_| !broken.contains(&name)) {
                self.out.code.whole_units.push(WholeUnits::Field { of, name: name.to_owned() });
            }
        }
    }
}

/// Whether a value says how many there are: `tags.length`, `len(tags)`, or one more than before.
fn is_count(name: &str, value: &Expr<'_>, adds: bool) -> bool {
    let is_one = |expr: &Expr<'_>| matches!(expr.kind, Kind::Number("1"));
    match &value.kind {
        Kind::Number("1") => adds,
        Kind::Binary("+" | "-", left, right) => is_one(right) && left.last_name() == Some(name),
        Kind::Member(_, "length") => true,
        Kind::Call(call) => match call.method() {
            Some("len") => call.receiver().is_none(),
            Some("size" | "countDocuments" | "count_documents" | "CountDocuments") => true,
            _ => false,
        },
        _ => false,
    }
}

/// Fields of which a description says that they count the smallest unit: `description: 'in minor units (cents)'` of a
/// property of a request.
pub(super) fn described(file: &str, text: &str) -> Vec<WholeUnits> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_said = |line: &str| line.contains("descri") || line.contains("message");
    let says = |line: &&str| is_said(line) && names_smallest_unit(line);
    let found = lines.iter().enumerate().filter(|(_, line)| says(line));
    let names = found.filter_map(|(at, _)| described_at(&lines, at));
    let folder = module_of(file);
    names
        .map(|name| WholeUnits::Described { folder: folder.to_owned(), name: name.to_owned() })
        .collect()
}

/// The property that a description belongs to: it stands on the same line, before the call that the description is an
/// argument of (`amount: int = Field(`), or behind the mark that it is in.
fn described_at<'t>(lines: &[&'t str], at: usize) -> Option<&'t str> {
    /// Nobody reads on for longer.
    const LINES: usize = 12;
    if let Some(name) = property(lines[at]) {
        return Some(name);
    }
    let before = lines[at.saturating_sub(LINES)..at].iter().rev();
    let opens =
        before.take_while(|line| !line.starts_with('@')).find(|line| line.ends_with("Field("));
    if let Some(opens) = opens {
        return property(opens);
    }
    // Up to the end of the mark, then the first that declares something.
    let mut depth = 0;
    let mut near = lines[at..].iter().take(LINES);
    let closes = |line: &&&str| {
        let before = depth;
        depth += braces(line);
        depth < 0 || (depth == 0 && (before > 0 || line.contains('}')))
    };
    near.find(closes)?;
    near.find_map(|line| property(line))
}

/// The folder of the module that a request belongs to: `src/orders/` of `src/orders/dto/order.dto.ts`.
fn module_of(file: &str) -> &str {
    let folder = file.rfind('/').map_or("", |at| &file[..=at]);
    ["dto/", "dtos/", "requests/", "validators/"]
        .iter()
        .find_map(|tail| folder.strip_suffix(tail))
        .unwrap_or(folder)
}

/// The property that a line declares: `amount: number;`, `readonly amount?: number;`, `amount: int = Field(…)`.
fn property(line: &str) -> Option<&str> {
    let (before, behind) = line.split_once(':')?;
    let name = before.split_whitespace().last()?.trim_end_matches(['?', '!']);
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
    let is_option = matches!(name, "description" | "example" | "default" | "type" | "minimum")
        || line.starts_with(['@', '}', ')', '/', '*', '"', '\''])
        || behind.trim_start().starts_with(['"', '\'', '`']);
    (is_name && !is_option && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

/// Whether an expression is a whole amount, by what makes it: `price * 100`, `toCents(price)`, `parseInt(price)`.
fn is_whole_amount(value: &Expr<'_>) -> bool {
    let is_hundred =
        |expr: &Expr<'_>| matches!(expr.kind, Kind::Number("100" | "100.0" | "1e2" | "1e8"));
    match &value.kind {
        Kind::Binary("*", left, right) => is_hundred(left) || is_hundred(right),
        Kind::Call(call) => match call.method() {
            Some(
                "round" | "floor" | "ceil" | "trunc" | "parseInt" | "int" | "Number" | "toFixed",
            ) => {
                call.args.iter().any(|arg| is_whole_amount(&arg.value))
                    || call.receiver().is_some_and(is_whole_amount)
                    || is_cut_to_whole(call)
            }
            method => method.is_some_and(is_of_smallest_unit),
        },
        Kind::Name(name) | Kind::Member(_, name) => is_of_smallest_unit(name),
        _ => false,
    }
}

/// Whether a call leaves no fraction: `parseInt(price, 10)`, `Math.round(price)`; `round(price, 2)` leaves two digits.
fn is_cut_to_whole(call: &Call<'_>) -> bool {
    match call.method() {
        Some("parseInt") => true,
        Some("round" | "floor" | "ceil" | "trunc" | "int") => call.args.len() == 1,
        _ => false,
    }
}
