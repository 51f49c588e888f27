//! CK-15: values read, changed in memory and written back.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Evidence, Severity,
    code::{Change, ReadThenWrite},
};

use crate::{
    Cx, declare_rule,
    facts::{code, names, words},
};

declare_rule! {
    /// # Stale write-back
    ///
    /// ## What it checks
    /// Reports code that reads a value, changes it in memory and writes it back: `doc.count += 1; doc.save()`,
    /// `$set: {count: doc.count + 1}` with a `doc` read before, or `replaceOne(filter, doc)` with the whole
    /// document, in one function; that is one finding, however many fields it changes. Documents of a loop over a list that was
    /// found, of `Promise.all`, and of Beanie that a document links to or a parameter is, count as read.
    ///
    /// `save` of a mapper that sends what changed only (Mongoose), or that knows versions (Spring Data), is left alone unless a
    /// value is worked out from itself: `this.count += 1` in a method of a schema,
    /// `account.setBalance(account.getBalance().add(x))` without `@Version` and `@Transactional`, also of a document that a
    /// function of the project hands over (`getWallet(id)`) and that is told to save itself, and of what `Optional.get()` or a
    /// reactive `flatMap` hands over.
    ///
    /// Information, and no warning, it is
    /// - where any change does (`tokenVersion`), where the value is worked out once a day (`currentStreak`), and where it is a
    ///   statistic of how a program is used (`stats.commandsUsed`, `downloadCount`, `totalLogins`; what visitors do at the same
    ///   time, `views`, `likes`, is none);
    /// - in code that never runs (a method that nobody calls, or that only such methods or tests call; a file that no other
    ///   takes in), in functions and routes that are there for tests (`testCredit`, `/seed-test-data`), and in a program that
    ///   one person uses in a terminal;
    /// - where it is saved with a session that a caller may give, and where a coroutine of Python reads and writes with pymongo
    ///   and awaits nothing between.
    ///
    /// Left alone is what loses nothing:
    /// - a filter that asks for more than the `_id` (a version, a state), and a function that leaves the counting to `$inc` and
    ///   sets the value in a special case only;
    /// - what refuses the second of two: a schema with `optimisticConcurrency`, a `@Version` of a class above, and a list that
    ///   is sorted, cut, given anew or marked as modified before the same `save` (Mongoose then asks for the version it read);
    /// - what is read and saved with the session of a transaction; what is read without it and saved with it is told, unless
    ///   the transaction did something before;
    /// - a field that a schema of Mongoose does not declare, which is not stored, and what a cache of the process hands out,
    ///   which is one object.
    ///
    /// ## Why it matters
    /// Between the two, another process reads the same value: both write, and one change is lost. Counters,
    /// balances and stocks drift.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const Post = mongoose.model('Post', schema);
    /// async function view(id) {
    ///   const post = await Post.findById(id);
    ///   post.views += 1;
    ///   await post.save();
    /// }
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const Post = mongoose.model('Post', schema);
    /// async function view(id) {
    ///   await Post.updateOne({_id: id}, {$inc: {views: 1}});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Let the server do it: `$inc`, `$mul`, `$min`, `$max`, an update with a pipeline, or `findOneAndUpdate`
    /// when the result is needed. Where that cannot be, put the value that was read into the filter, or a
    /// version.
    ///
    /// ## When to ignore it
    /// One process writes at a time, or the value is a guess anyway.
    W020, "stale-write-back",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["CK-15"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // What one function does to one document is one thing to mend.
    let mut functions: BTreeMap<Function<'_>, Vec<&ReadThenWrite>> = BTreeMap::new();
    let is_told = |write: &&ReadThenWrite| {
        write.change != Change::Truncated
            && !found.is_not_stored(write.collection.as_deref(), &write.path)
    };
    for write in found.read_then_writes.iter().filter(is_told) {
        let place = &write.place;
        // A function without a name is told from others by its line.
        let own = place.function.is_none().then_some(write.read_line);
        let key = (
            place.location.file.as_str(),
            place.function.as_deref(),
            write.collection.as_deref(),
            own,
        );
        functions.entry(key).or_default().push(write);
    }
    for mut writes in functions.into_values() {
        writes.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        // Beside a whole document that is put back, its fields need no word.
        let whole = writes.iter().copied().find(|write| write.change == Change::Document);
        let Some(write) = whole.or(writes.first().copied()) else { continue };
        let path = &write.path;
        let others: BTreeSet<&str> =
            writes.iter().map(|other| other.path.as_str()).filter(|other| other != path).collect();
        let inc = format!("{{$inc: {{{path}: …}}}}");
        let concat = format!("[{{$set: {{{path}: {{$concat: [\"${path}\", …]}}}}}}]");
        let todo = match write.change {
            Change::Truncated => continue,
            Change::Number => format!("{inc}, or findOneAndUpdate when the new value is needed"),
            Change::Text => format!("let the server add to it: updateOne(filter, {concat})"),
            Change::Value => {
                format!("let the server do it: {inc} for a number, {concat} for text")
            }
            Change::Document => "updateOne with $set, $inc, $push of what changes; or put a version into the filter and try again when it has moved on".to_owned(),
        };
        let of = code::of(write.collection.as_deref());
        let what = match (write.change, others.len()) {
            (Change::Document, _) => {
                format!("a document{of} is read, changed in memory and put back as a whole")
            }
            (_, 0) => format!("`{path}`{of} is read, changed in memory and written back"),
            (_, 1) => format!(
                "`{path}` and another field{of} are read, changed in memory and written back"
            ),
            (_, n) => format!(
                "`{path}` and {n} other fields{of} are read, changed in memory and written back"
            ),
        };
        let draft = code::draft(
            evidence,
            &write.place,
            if path.is_empty() { "document" } else { path },
            what,
            "another process that does the same at that moment loses its change",
            todo,
        );
        let is_harmless = writes.iter().all(|write| {
            write.is_kept_apart
                || is_mark(&write.path)
                || is_retry(&write.path)
                || is_statistic(&write.path)
        }) || is_for_tests(write)
            || found.is_for_one_person()
            || found.is_never_run(&write.place);
        cx.report(if is_harmless { draft.severity(Severity::Info) } else { draft });
    }
}

/// Whether a number counts how often one job was tried again: the job itself writes it, one after the other. Attempts to
/// log in come from anybody.
fn is_retry(path: &str) -> bool {
    let leaf = path.rsplit('.').next().unwrap_or(path);
    names::words(leaf).iter().any(|word| matches!(word.as_str(), "retry" | "retries" | "retried"))
}

/// Whether a number is there to differ from the one before, or is worked out once a day: two that come at one moment
/// want the same.
fn is_mark(path: &str) -> bool {
    let leaf = path.rsplit('.').next().unwrap_or(path);
    let words = names::words(leaf);
    words.iter().any(|word| word == "streak")
        || words
            .last()
            .is_some_and(|last| matches!(last.as_str(), "version" | "revision" | "generation"))
}

/// Whether a number is shown and nothing more: `stats.commandsUsed`, `usage.count`, `downloadCount`. Money is not.
fn is_statistic(path: &str) -> bool {
    const GROUPS: [&str; 7] =
        ["stats", "stat", "statistics", "metrics", "usage", "analytics", "interactions"];
    const COUNTED: [&str; 10] = [
        "download",
        "downloads",
        "edit",
        "edits",
        "impression",
        "impressions",
        "share",
        "shares",
        "search",
        "searches",
    ];
    let words: Vec<String> = path.split('.').flat_map(names::words).collect();
    let is_money = words.iter().any(|word| {
        let word = words::singular(word);
        matches!(
            word.as_str(),
            "revenue" | "amount" | "balance" | "earning" | "paid" | "sale" | "price" | "cost"
        )
    });
    let (first, leaf) = (path.split('.').next(), path.rsplit('.').next());
    let is_group = path.contains('.')
        && first.is_some_and(|first| {
            names::words(first).last().is_some_and(|word| GROUPS.contains(&word.as_str()))
        });
    let is_counted = leaf.is_some_and(|leaf| {
        let words = names::words(leaf);
        words.first().is_some_and(|word| COUNTED.contains(&word.as_str()))
            && (words.len() == 1 || words.last().is_some_and(|word| word == "count"))
    });
    !is_money && (is_group || is_counted || counts_logins(&words))
}

/// Whether a number says how often somebody came in: `totalLogins`, `signInCount`. Attempts are counted to be limited.
fn counts_logins(words: &[String]) -> bool {
    let comes_in = words.iter().any(|word| matches!(word.as_str(), "login" | "logins" | "signin"))
        || words.windows(2).any(|two| matches!(two[0].as_str(), "sign" | "log") && two[1] == "in");
    let counts = words.iter().any(|word| matches!(word.as_str(), "count" | "total" | "logins"));
    let limits = |word: &String| {
        ["attempt", "fail", "lock", "tries", "wrong", "invalid"].iter().any(|w| word.starts_with(w))
    };
    comes_in && counts && !words.iter().any(limits)
}

/// Whether the function says that it is there for tests: `testCredit`, `seedWallet`.
fn is_for_tests(write: &ReadThenWrite) -> bool {
    let name = write.place.function.as_deref().unwrap_or_default();
    names::words(name)
        .iter()
        .any(|word| matches!(word.as_str(), "test" | "mock" | "demo" | "seed" | "simulate"))
}

/// The file, the function, the collection it writes to, and the line of the function where it has no name.
type Function<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<u32>);

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn ck_15_repositories_of_spring() {
        let java = |body: &str| {
            let text = format!(
                "source Account.java\npackage a.model;\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document\npublic class Account {{ private String id; private long balance; }}\nsource Bank.java\npackage a;\nimport a.model.Account;\nclass Bank {{\n  void f(String id, long n) {{\n{body}\n  }}\n}}\n"
            );
            check("W020", &text).len()
        };
        let optional = "Optional<Account> found = accountRepository.findById(id);\nAccount account = found.get();\naccount.setBalance(account.getBalance() + n);\naccountRepository.save(account);";
        assert_eq!(java(optional), 1);
        assert_eq!(java(&optional.replace("found.get()", "found.orElseThrow()")), 1);
        assert_eq!(java(&optional.replace("account.getBalance() + n", "n")), 0);
        assert_eq!(java(&optional.replace("accountRepository.findById(id)", "given(id)")), 0);
        let reactive = "return accountRepository.findById(id).flatMap(account -> {\naccount.setBalance(account.getBalance() - n);\nreturn accountRepository.save(account);\n});";
        assert_eq!(java(reactive), 1);
        assert_eq!(java(&reactive.replace("accountRepository.findById(id)", "given(id)")), 0);
    }

    #[test]
    fn ck_15_documents_that_functions_of_the_project_hand_over() {
        let count = |head: &str, load: &str, save: &str| {
            let text = format!(
                "source wallet.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Wallet', new mongoose.Schema({{}}));\nsource a.ts\nimport {{ Types }} from 'mongoose';\n{head}\nexport class A {{\n  async pay(id: string, n: number) {{\n    const w = {load};\n    if (n) {{ if (w) {{ w.balance -= n; }} }}\n    await {save};\n  }}\n}}\n"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("", "await this.wallets.findByUser(id)", "w.save()"), 1);
        assert_eq!(count("", "await this.getOrCreateWallet(id)", "w.save()"), 1);
        assert_eq!(count("", "await getWallet(id)", "w.save({ validateBeforeSave: false })"), 1);
        assert_eq!(count("", "await this.createWallet(id)", "w.save()"), 0, "nobody else has it");
        assert_eq!(count("", "new Wallet()", "w.save()"), 0);
        let repository = count("", "await this.wallets.load(id)", "this.wallets.save(w)");
        assert_eq!(repository, 0, "another mapper has repositories");
        let other = "import { Model } from 'sequelize';";
        assert_eq!(count(other, "await getWallet(id)", "w.save()"), 0, "another database");
    }

    #[test]
    fn ck_15_updates_without_an_operator_and_other_ways_to_write_a_sum() {
        let count = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function pay(id, n) {{ const user = await User.findById(id); {body} }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("await User.findByIdAndUpdate(id, { balance: user.balance + n });"), 1);
        assert_eq!(
            count("await User.updateOne({_id: id}, { balance: user.balance - n, at: 1 });"),
            1
        );
        assert_eq!(count("await User.findByIdAndUpdate(id, { balance: n });"), 0);
        assert_eq!(count("await User.find({ balance: user.balance + n });"), 0, "no update");
        let aside = "const had = user.balance; await User.updateOne({_id: id}, {$set: {balance: had + n}});";
        assert_eq!(count(aside), 1);
        assert_eq!(
            count("const sum = user.balance + n; user.balance = sum; await user.save();"),
            1
        );
        assert_eq!(count("const sum = n + 1; user.balance = sum; await user.save();"), 0);
        let apart = |names: &str, sum: &str| {
            count(&format!(
                "const {{ {names} }} = user; await User.updateOne({{_id: id}}, {{$set: {{balance: {sum}}}}});"
            ))
        };
        assert_eq!(apart("balance", "balance + n"), 1);
        assert_eq!(apart("name, balance: had", "had + n"), 1);
        assert_eq!(apart("limit", "limit + n"), 0);
        let python = |value: &str| {
            let text = format!(
                "source a.py\nfrom pymongo import MongoClient\ndb = MongoClient().shop\ndef pay(i, n):\n    doc = db.users.find_one({{'_id': i}})\n    db.users.update_one({{'_id': i}}, {{'$set': {{'balance': {value}}}}})\n"
            );
            check("W020", &text).len()
        };
        assert_eq!(python("doc['balance'] + n"), 1);
        assert_eq!(python("doc.get('balance', 0) + n"), 1);
        assert_eq!(python("doc.get('other', 0) + n"), 0);
    }

    /// Mongoose stores what the schema declares and nothing else.
    #[test]
    fn ck_15_what_no_schema_declares_is_not_stored() {
        let count = |schema: &str, field: &str| {
            let text = format!(
                "source product.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({schema});\ns.pre('save', function () {{}});\nmodule.exports = mongoose.model('Product', s);\nsource a.js\nconst Product = require('./product');\nasync function sell(id, n) {{ const p = await Product.findById(id); p.{field} -= n; await p.save(); }}"
            );
            check("W020", &text).len()
        };
        let rest = "name: String, unit: String, active: Boolean";
        let spread = |head: &str| {
            let text = format!(
                "source product.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{ {head} {rest}, n: Number }});\ns.methods.show = function () {{ return {{ ...this.n, a: 1 }}; }};\nmodule.exports = mongoose.model('Product', s);\nsource a.js\nconst Product = require('./product');\nasync function sell(id, n) {{ const p = await Product.findById(id); p.stock -= n; await p.save(); }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(spread(""), 0, "what a method spreads is not in the schema");
        assert_eq!(spread("...base,"), 1);
        let with = |more: &str| format!("{{ {rest}, {more} }}");
        assert_eq!(count(&with("stock: Number"), "stock"), 1);
        assert_eq!(count(&with("totalStock: Number"), "stock"), 0);
        assert_eq!(count("{ totalStock: Number }", "stock"), 1, "a sketch");
        let open = format!("{}, {{ strict: false }}", with("totalStock: Number"));
        assert_eq!(count(&open, "stock"), 1);
        assert_eq!(count(&with("...base, n: Number"), "stock"), 1, "nobody knows what is in it");
        assert_eq!(count(&with("stock: { onHand: Number }"), "stock.onHand"), 1);
    }

    /// One object in memory has both changes.
    #[test]
    fn ck_15_what_a_cache_hands_out_is_the_same_for_all() {
        let count = |load: &str| {
            let text = format!(
                "source user.js\nconst mongoose = require('mongoose');\nconst cache = new Map();\nconst Model = mongoose.model('User', s);\nmodule.exports = {{ getUser: async (id) => {{ {load} let user = await Model.findById(id); {} return user; }} }};\nsource a.js\nconst {{ getUser }} = require('./user');\nasync function pay(id, n) {{ const user = await getUser(id); user.coins += n; await user.save(); }}",
                if load.is_empty() { "" } else { "cache.set(id, user);" }
            );
            check("W020", &text).len()
        };
        assert_eq!(count(""), 1);
        assert_eq!(count("const cached = cache.get(id); if (cached) return cached;"), 0);
    }

    #[test]
    fn ck_15_statistics_are_information_unless_they_are_money() {
        let severity = |path: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Bot = mongoose.model('Bot', s);\nasync function f(id) {{ const bot = await Bot.findById(id); bot.{path} += 1; await bot.save(); }}"
            );
            check("W020", &text)[0].severity
        };
        for path in
            ["stats.commandsUsed", "usage.count", "downloadCount", "totalLogins", "signInCount"]
        {
            assert_eq!(severity(path), Severity::Info, "{path}");
        }
        for path in ["stats.totalRevenue", "count", "usage"] {
            assert_eq!(severity(path), Severity::Warn, "{path}");
        }
    }

    #[test]
    fn ck_15_transactions_protect_what_they_read() {
        let count = |read: &str, begin: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Wallet = mongoose.model('Wallet', s);\nasync function pay(id, n, options) {{ await {begin}(async (session) => {{ const w = await Wallet.findById({read}); w.balance -= n; await w.save({{ session }}); }}); }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("id, null, { session }", "mongoose.connection.transaction"), 0);
        assert_eq!(count("id, null, { session }", "db.withTransaction"), 0);
        assert_eq!(count("id", "mongoose.connection.transaction"), 1, "read without it");
        assert_eq!(count("{ctx: id}", "mongoose.connection.transaction"), 1);
        // What a transaction did before fixes the moment it sees.
        let count = |first: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Wallet = mongoose.model('Wallet', s);\nasync function pay(id, n) {{ const session = await mongoose.startSession(); session.startTransaction(); {first} const w = await Wallet.findById(id); w.balance -= n; await w.save({{ session }}); }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("await Wallet.deleteOne({_id: n}).session(session);"), 0);
        assert_eq!(count("await Wallet.deleteOne({_id: n});"), 1);
    }

    #[test]
    fn ck_15_what_nothing_interrupts_is_information() {
        let severity = |head: &str, between: &str| {
            let text = format!(
                "source a.py\nfrom pymongo import MongoClient\ncoll = MongoClient('mongodb://db/').bot.t_user\n{head} give(ctx, n):\n    user = coll.find_one({{'_id': ctx.id}})\n{between}    coll.update_one({{'_id': ctx.id}}, {{'$set': {{'money': user['money'] + n}}}})\n    await ctx.send('done')\n"
            );
            check("W020", &text)[0].severity
        };
        assert_eq!(severity("async def", ""), Severity::Info);
        assert_eq!(severity("async def", "    await ctx.send('wait')\n"), Severity::Warn);
        assert_eq!(severity("def", ""), Severity::Warn);
    }

    #[test]
    fn ck_15_marks_and_functions_for_tests_are_information() {
        use docward_model::Severity::{Info, Warn};
        let severity = |name: &str, field: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function {name}(id) {{ const user = await User.findById(id); user.{field} += 1; await user.save(); }}"
            );
            check("W020", &text)[0].severity
        };
        assert_eq!(severity("logout", "tokenVersion"), Info);
        assert_eq!(severity("visit", "currentStreak"), Info);
        assert_eq!(severity("logout", "sessionGeneration"), Info);
        assert_eq!(severity("testCredit", "balance"), Info);
        assert_eq!(severity("credit", "balance"), Warn);
        assert_eq!(severity("attest", "versionCount"), Warn);
        assert_eq!(severity("again", "retryCount"), Info, "the job itself counts");
        assert_eq!(severity("login", "loginAttempts"), Warn, "anybody tries");
        let route = |path: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nrouter.post('{path}', auth, async (req, res) => {{ const user = await User.findById(req.id); user.balance += 1; await user.save(); }});"
            );
            check("W020", &text)[0].severity
        };
        assert_eq!(route("/seed-test-data"), Info);
        assert_eq!(route("/latest-data"), Warn);
    }

    #[test]
    fn ck_15_lists_that_were_loaded_and_other_mappers() {
        let count = |text: &str| check("W020", text).len();
        let each = "source a.js\nconst mongoose = require('mongoose');\nconst Product = mongoose.model('Product', schema);\nasync function sell(ids) {\n  const products = await Product.find({_id: {$in: ids}});\n  products.forEach((product) => { product.stock -= 1; product.save(); });\n}\n";
        assert_eq!(count(each), 1);
        assert_eq!(count(&each.replace("await Product.find({_id: {$in: ids}})", "read(ids)")), 0);
        let beanie = "source a.py\nfrom beanie import Document\nclass Counter(Document):\n    n: int = 0\nasync def f():\n    c = await Counter.find_one()\n    c.n += 1\n    await c.save()\n";
        assert_eq!(count(beanie), 1);
        let djongo = "source models.py\nfrom djongo import models\nclass Wallet(models.Model):\n    n = models.IntegerField()\nsource views.py\nfrom django.shortcuts import render\nfrom app.models import Wallet\ndef f(user):\n    w = Wallet.objects.filter(user=user).first()\n    w.n -= 1\n    w.save()\n";
        assert_eq!(count(djongo), 1);
        assert_eq!(count(&djongo.replace("from djongo", "from django.db")), 0);
    }

    #[test]
    fn ck_15_a_counter_read_and_set_is_a_race() {
        let count = |text: &str| check("W020", text).len();
        let python = "source a.py\nfrom pymongo import MongoClient\ndef f(db):\n    doc = db.t.find_one({'_id': 1})\n    db.t.update_one({'_id': 1}, {'$set': {'n': doc['n'] + 1}})\n";
        assert_eq!(count(python), 1);
        assert_eq!(count(&python.replace("'$set': {'n': doc['n'] + 1}", "'$inc': {'n': 1}")), 0);
        assert_eq!(count(&python.replace("doc['n'] + 1", "other + 1")), 0);
        let text = python.replace("doc['n'] + 1", "doc['n'] + ' more'");
        let found = check("W020", &text);
        assert!(found[0].todo.contains("$concat") && !found[0].todo.contains("$inc"), "{found:?}");
        let fresh = "source a.js\nconst mongoose = require('mongoose');\nasync function f() { const post = new Post(); post.views += 1; await post.save(); }";
        assert_eq!(count(fresh), 0);
    }

    #[test]
    fn ck_15_a_whole_document_put_back_is_a_race() {
        let count = |text: &str| check("W020", text).len();
        let python = "source a.py\nfrom pymongo import MongoClient\ndef f(db):\n    doc = db.t.find_one({'_id': 1})\n    doc['n'] = 2\n    db.t.replace_one({'_id': 1}, doc)\n";
        assert_eq!(count(python), 1);
        assert_eq!(count(&python.replace("replace_one({'_id': 1}, doc)", "save(doc)")), 1);
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\nasync function f(db, id) { const doc = await db.collection('t').findOne({_id: id}); await db.collection('t').replaceOne({_id: id}, {...doc, n: 2}); }";
        assert_eq!(count(node), 1);
        // A version in the filter, another document, one that was not read.
        assert_eq!(
            count(
                &python.replace("replace_one({'_id': 1}", "replace_one({'_id': 1, 'v': doc['v']}")
            ),
            0
        );
        assert_eq!(count(&python.replace("{'_id': 1}, doc)", "{'_id': 1}, other)")), 0);
        assert_eq!(count(&python.replace("db.t.find_one({'_id': 1})", "{'a': 1}")), 0);
        let mapper = "source a.js\nconst mongoose = require('mongoose');\nconst Post = mongoose.model('Post', s);\nasync function f(id) { const post = await Post.findById(id); post.title = 'x'; await post.save(); }";
        assert_eq!(count(mapper), 0);
    }

    #[test]
    fn ck_15_queries_in_chains_nested_fields_and_counters() {
        let js = |body: &str| {
            let head = "source a.js\nconst mongoose = require('mongoose');\nconst schema = new mongoose.Schema({});\nconst User = mongoose.model('User', schema);\n";
            let found = check("W020", &format!("{head}{body}"));
            found.into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        for (body, path) in [
            (
                "async function f(m) { const user = await User.findOne({m}).select('+password'); user.logins += 1; await user.save(); }",
                "logins",
            ),
            (
                "async function f(m) { const user = await User.findOne({m}).select('a').exec(); user.logins += 1; await user.save(); }",
                "logins",
            ),
            (
                "async function f(id, n) { const user = await User.findById(id); user.billing.balance -= n; await user.save(); }",
                "billing.balance",
            ),
            (
                "async function f(id) { const user = await User.findById(id); user.count++; await user.save(); }",
                "count",
            ),
            (
                "schema.statics.read = async function (id) { const user = await this.findOne({id}); user.count += 1; await user.save(); }",
                "count",
            ),
        ] {
            let found = js(body);
            assert_eq!(found.len(), 1, "{body}: {found:?}");
            assert!(found[0].starts_with(&format!("`{path}`")), "{found:?}");
        }
        let several = js(
            "async function f(id, n) { const user = await User.findById(id); if (n) { user.a += n; user.a += 1; } user.b -= n; await user.save(); }",
        );
        assert_eq!(several.len(), 1, "{several:?}");
        assert!(several[0].starts_with("`a` and another field of `User` are read"), "{several:?}");
        for body in [
            "async function f(id) { const user = await User.findById(id); let n = 0; n++; user.name = 'x'; await user.save(); }",
            "async function f(id) { const user = await User.findById(id); user.settings ??= {}; await user.save(); }",
            "async function f(id, list) { const user = await User.findById(id); list.count++; await user.save(); }",
        ] {
            assert!(js(body).is_empty(), "{body}: {:?}", js(body));
        }
    }

    #[test]
    fn ck_15_one_function_without_a_name_is_one_finding() {
        let head = "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', new mongoose.Schema({}));\n";
        let route = "router.put('/a', async (req, res) => {\n  const user = await User.findById(req.params.id);\n  if (req.body.a) {\n    user.a -= 1;\n  } else {\n    user.b -= 1;\n  }\n  await user.save();\n});\n";
        assert_eq!(check("W020", &format!("{head}{route}")).len(), 1);
        assert_eq!(check("W020", &format!("{head}{route}{route}")).len(), 2);
    }

    #[test]
    fn ck_15_a_special_case_beside_inc_is_no_race() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', new mongoose.Schema({}));\nasync function fail(id) {\n  const user = await User.findById(id);\n  const tries = user.tries + 1;\n  const update = tries > 5 ? { $set: { tries: tries, locked: true } } : { $inc: { tries: 1 } };\n  await User.updateOne({ _id: id }, update);\n}\n";
        assert_eq!(check("W020", text).len(), 0);
        assert_eq!(check("W020", &text.replace("$inc: { tries: 1 }", "$unset: { a: 1 }")).len(), 1);
    }

    /// A list that is written whole brings the version of the document into the filter of Mongoose.
    #[test]
    fn ck_15_lists_that_are_written_whole_bring_a_version() {
        let count = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Fee = mongoose.model('Fee', s);\nasync function pay(id, n, undo) {{ const fee = await Fee.findById(id); {body} await fee.save(); }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("fee.paid += n;"), 1);
        assert_eq!(count("fee.paid += n; fee.parts.sort(by);"), 0);
        assert_eq!(count("fee.paid += n; fee.parts = [...fee.parts, one];"), 0);
        assert_eq!(count("fee.paid += n; fee.parts = fee.parts.filter(Boolean);"), 0);
        assert_eq!(count("fee.paid += n; const all = fee.parts.filter(Boolean).sort(by);"), 1);
        assert_eq!(count("fee.paid += n; fee.parts.push(n);"), 1);
        let marked = "fee.parts[0].done = true; fee.paid += n; fee.markModified('parts');";
        assert_eq!(count(marked), 0);
        assert_eq!(count(&marked.replace("Modified('parts'", "Modified('rest'")), 1, "no list");
        let found = "fee.paid += n; const at = fee.all.parts.indexOf(id); if (at > -1) { fee.all.parts.splice(at, 1); }";
        assert_eq!(count(found), 0);
        assert_eq!(count(&found.replace("at > -1", "undo")), 1, "it may not be cut");
        let turns = "const at = fee.parts.indexOf(id); if (at !== -1) { fee.parts.splice(at, 1); } else { fee.paid += n; }";
        assert_eq!(count(turns), 1, "the other branch");
        let versioned = |option: &str| {
            let text = format!(
                "source fee.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Fee', new mongoose.Schema({{ paid: Number }}, {{ {option} }}));\nsource a.js\nconst Fee = require('./fee');\nasync function pay(id, n) {{ const fee = await Fee.findById(id); fee.paid += n; await fee.save(); }}"
            );
            check("W020", &text).len()
        };
        assert_eq!(versioned("timestamps: true"), 1);
        assert_eq!(versioned("optimisticConcurrency: true"), 0);
        let branches = "if (undo) { fee.parts = fee.parts.filter(Boolean); fee.paid -= n; } else { fee.paid += n; }";
        assert_eq!(count(branches), 1, "the other branch");
    }

    #[test]
    fn ck_15_methods_of_schemas() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst schema = new mongoose.Schema({});\nschema.methods.use = function () {\n  this.uses += 1;\n  return this.save();\n};\n";
        assert_eq!(check("W020", text).len(), 1);
        assert_eq!(check("W020", &text.replace("schema.methods.use", "counter.use")).len(), 0);
    }

    #[test]
    fn ck_15_setters_of_java() {
        let model = "source Account.java\npackage a;\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document class Account { private java.math.BigDecimal balance; }\n";
        let service = "source Service.java\npackage a;\nimport a.model.Account;\nclass Service {\n  Account get(String id) { return accountRepository.findById(id).orElseThrow(); }\n  void pay(String id, BigDecimal amount) {\n    Account account = get(id);\n    BigDecimal after = account.getBalance().subtract(amount);\n    account.setBalance(after);\n    accountRepository.save(account);\n  }\n}\n";
        let count = |model: &str, service: &str| check("W020", &format!("{model}{service}")).len();
        assert_eq!(count(model, service), 1);
        let sum = service
            .replace("account.getBalance().subtract(amount)", "account.getBalance() - amount");
        assert_eq!(count(model, &sum), 1);
        let other =
            service.replace("account.getBalance().subtract(amount)", "request.getBalance()");
        assert_eq!(count(model, &other), 0);
        assert_eq!(
            count(&model.replace("private java", "@Version long v; private java"), service),
            0
        );
        // A version of the class above.
        let base = "source Base.java\npackage a;\nimport org.springframework.data.annotation.Version;\nabstract class Base { @Version Long version; }\n";
        let below = model.replace("class Account", "class Account extends Base");
        assert_eq!(count(&format!("{base}{below}"), service), 0);
        assert_eq!(count(&format!("{}{below}", base.replace("@Version ", "")), service), 1);
        assert_eq!(count(model, &service.replace("  void pay", "  @Transactional\n  void pay")), 0);
        assert_eq!(count(&model.replace("@Document", "@Entity"), service), 0, "another database");
        let part = service.replace("Account account = get(id);", "Customer customer = customerRepository.findById(id).orElseThrow();\n    Account account = customer.getAccounts().stream().findFirst().orElseThrow();").replace("save(account)", "save(customer)");
        assert_eq!(count(model, &part), 1);
    }

    #[test]
    fn ck_15_transactions_and_rows_of_other_databases_are_no_races() {
        let node = "source a.js\nconst mongoose = require('mongoose');\nconst Stock = mongoose.model('Stock', new mongoose.Schema({}));\nasync function f(id, session) { await session.withTransaction(async () => { const stock = await Stock.findById(id).session(session); stock.count -= 1; await stock.save({ session }); }); }";
        assert_eq!(check("W020", node).len(), 0);
        assert_eq!(check("W020", &node.replace("save({ session })", "save()")).len(), 1);
        let own = node
            .replace("session.withTransaction(async () =>", "runInTransaction(async (session) =>");
        assert_eq!(check("W020", &own).len(), 0);
        let head = "source a.js\nconst mongoose = require('mongoose');\nconst Stock = mongoose.model('Stock', new mongoose.Schema({}));\n";
        let given = format!(
            "{head}async function f(id, session) {{ const stock = await Stock.findById(id).session(session); stock.count -= 1; await stock.save({{ session }}); }}"
        );
        assert_eq!(check("W020", &given).len(), 0);
        // Whether there is a transaction is up to those who call it.
        let optional = given.replace("(id, session)", "(id, session = null)");
        let found = check("W020", &optional);
        assert_eq!(found.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Info]);
        let entry = optional
            .replace("count -= 1;", "count -= 1; await new Transaction({ id }).save({ session });");
        assert_eq!(check("W020", &entry).len(), 1, "a document of that name begins nothing");
        let set = format!(
            "{head}async function f(id) {{ await conn.startSession().withTransaction(async (session) => {{ const stock = await Stock.findOne({{ id }}, null, {{ session }}); await Stock.findByIdAndUpdate(id, {{ $set: {{ count: stock.count - 1 }} }}, {{ new: true, session }}); }}); }}"
        );
        assert_eq!(check("W020", &set).len(), 0);
        assert_eq!(check("W020", &set.replace("session }", "x }")).len(), 1);
        let python = "source a.py\nfrom django.db import models\nfrom mongoengine import Document\nclass Order(models.Model):\n    pass\ndef f(i):\n    order = Order.objects.get(id=i)\n    order.count += 1\n    order.save()\n";
        assert_eq!(check("W020", python).len(), 0);
        assert_eq!(check("W020", &python.replace("models.Model", "Document")).len(), 1);
        let views = "source a.py\nfrom rest_framework import views\nfrom shop.models import Order\ndef f(i):\n    order = Order.objects.get(id=i)\n    order.count += 1\n    order.save()\n";
        assert_eq!(check("W020", views).len(), 0);
    }

    #[test]
    fn ck_15_read_without_the_session_that_it_is_saved_with() {
        let count = |read: &str, save: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Wallet = mongoose.model('Wallet', s);\nasync function pay(id, n) {{\n  const session = await mongoose.startSession();\n  await session.withTransaction(async () => {{\n    const wallet = await Wallet.findById(id){read};\n    wallet.balance -= n;\n    await wallet.save({save});\n  }});\n}}\n"
            );
            check("W020", &text).len()
        };
        assert_eq!(count("", "{ session }"), 1);
        assert_eq!(count(".session(session)", "{ session }"), 0);
        assert_eq!(count("", ""), 1);
    }

    #[test]
    fn ck_15_loops_lists_and_chains() {
        let count = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst Batch = mongoose.model('Batch', s);\nasync function f(id, n) {{\n{body}\n}}\n"
            );
            check("W020", &text).len()
        };
        let each = "const batches = await Batch.find({id}).sort({a: 1});\nfor (const batch of batches) { batch.quantity -= n; await batch.save(); }";
        assert_eq!(count(each), 1);
        assert_eq!(count(&each.replace("Batch.find({id}).sort({a: 1})", "makeAll(id)")), 0);
        let all = "const [batch, other] = await Promise.all([Batch.findById(id), make(n)]);\nbatch.quantity -= n;\nawait batch.save();";
        assert_eq!(count(all), 1);
        assert_eq!(count(&all.replace("[batch, other]", "[other, batch]")), 0);
        let chain = "const batch = await Batch.findOne().where('_id').equals(id);\nbatch.quantity -= n;\nawait batch.save();";
        assert_eq!(count(chain), 1);
    }

    #[test]
    fn ck_15_documents_of_beanie_that_are_linked_or_handed_over() {
        let count = |body: &str| {
            let text = format!(
                "source models.py\nfrom beanie import Document\nclass Member(Document):\n    credits: int\nclass Call(Document):\n    cost: int\nsource a.py\nfrom models import Member, Call\n{body}"
            );
            check("W020", &text).len()
        };
        let linked = "async def end(id, cost):\n    call = await Call.get(id)\n    member = call.member\n    member.credits -= cost\n    await member.save()\n";
        assert_eq!(count(linked), 1);
        let handed = "async def add(n: int, me: Member = Depends(current)):\n    me.credits += n\n    await me.save()\n";
        assert_eq!(count(handed), 1);
        assert_eq!(count(&handed.replace("me: Member", "me: Other")), 0);
    }
}
