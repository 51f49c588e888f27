//! DM-08.4: arrays that the application truncates.

use docward_model::{Evidence, Severity, code::Change};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Truncated in memory
    ///
    /// ## What it checks
    /// Reports code that loads a document, adds to one of its arrays, shortens the array and saves the document.
    /// It is a note if nothing calls the code.
    ///
    /// Docward does not report:
    /// - scripts that are started by hand
    /// - shortening in another branch or `case` than the addition
    /// - an element that is replaced in the middle (`splice(index, 1)`)
    ///
    /// ## Why it matters
    /// If another writer does the same between the read and the save, one of the two entries is lost. The whole
    /// document is also sent twice.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const User = mongoose.model('User', schema);
    /// async function login(id, entry) {
    ///   const user = await User.findById(id);
    ///   user.logins.push(entry);
    ///   user.logins = user.logins.slice(-10);
    ///   await user.save();
    /// }
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const User = mongoose.model('User', schema);
    /// async function login(id, entry) {
    ///   await User.updateOne({_id: id}, {$push: {logins: {$each: [entry], $slice: -10}}});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Use `$push` with `$each` and `$slice: -N`. This single statement keeps the last N elements and loses no
    /// entry.
    ///
    /// ## When to ignore it
    /// Only one process ever writes the document.
    D023, "truncated-in-memory",
    level: Recommended,
    area: Growth,
    severities: [Warn, Info],
    clauses: ["DM-08.4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let cut = found.read_then_writes.iter().filter(|write| {
        write.change == Change::Truncated && !found.is_hand_run(&write.place.location.file)
    });
    for write in cut {
        let draft = code::draft(
            evidence,
            &write.place,
            &write.path,
            format!(
                "the code reads `{}`{}, truncates it in memory and saves it",
                write.path,
                code::of(write.collection.as_deref())
            ),
            "an element that another client adds between the read and the save is lost, and the document is transferred twice",
            format!(
                "keep the last N elements with one statement: {{$push: {{{}: {{$each: […], $slice: -N}}}}}}",
                write.path
            ),
        );
        let is_idle = found.is_never_run(&write.place);
        cx.report(if is_idle { draft.severity(Severity::Info) } else { draft });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_08_4_an_array_that_is_only_read_is_not_cut() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function f(id) { const user = await User.findById(id); return user.logins.slice(-10); }";
        assert!(check("D023", text).is_empty());
    }

    #[test]
    fn dm_08_4_the_cut_belongs_to_the_addition() {
        let count = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function f(id, entry, what) {{\n  const user = await User.findById(id);\n{body}\n  await user.save();\n}}"
            );
            check("D023", &text).len()
        };
        assert_eq!(
            count("user.logins.push(entry); if (user.logins.length > 9) { user.logins.shift(); }"),
            1
        );
        assert_eq!(count("if (entry) { user.logins.push(entry); } user.logins.splice(0, 1);"), 1);
        assert_eq!(
            count(
                "switch (what) { case 'a': user.logins.push(entry); break; case 'b': user.logins.pop(); break; }"
            ),
            0
        );
        assert_eq!(count("if (entry) { user.logins.push(entry); } else { user.logins.pop(); }"), 0);
        assert_eq!(
            count("user.logins.splice(user.logins.indexOf(what), 1); user.logins.push(entry);"),
            0
        );
        assert_eq!(count("const at = 1; user.logins.splice(at, 1); user.logins.push(entry);"), 0);
        assert_eq!(count("const shown = user.logins.slice(-3); user.logins.push(entry);"), 0);
    }
}
