//! A model under construction: the positions of its fields, what was left out, and the current
//! nesting depth.

use std::collections::{BTreeMap, BTreeSet};

use crate::{LeftOut, Model, Place, shape::Shape};

/// The maximum nesting depth of fields. Documents in practice are not nested deeper, and the schema of a
/// deeper one would come close to the server's limit.
const MAX_DEPTH: usize = 20;
/// The maximum number of parts of a schema. Larger schemas help no one. Types that contain each
/// other repeatedly would otherwise grow without bound.
const MAX_PARTS: usize = 20_000;
/// The maximum number of omissions that are recorded for a model. No one reads a longer list.
const MAX_LEFT_OUT: usize = 2_000;

/// Collects the parts of one model.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) fields: BTreeMap<String, Place>,
    /// The fields whose names the framework chose.
    pub(crate) generated: BTreeSet<String>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The number of enclosing types that are not validated. Validators do not descend into these.
    unchecked: usize,
    /// The named types that are being read, outermost first.
    open: Vec<String>,
    depth: usize,
    parts: usize,
}

impl Draft {
    /// Records where a field is declared. The first declaration counts.
    pub(crate) fn field(&mut self, path: &str, place: Place) {
        self.fields.entry(path.to_owned()).or_insert(place);
    }

    /// Records a restriction that the schema does not express.
    pub(crate) fn loosened(
        &mut self,
        path: &str,
        what: impl Into<String>,
        why: impl Into<String>,
        place: Place,
    ) {
        self.leave_out(path, what.into(), why.into(), place, true);
    }

    /// Whether a schema can name a field. If not, records the field as left out.
    pub(crate) fn can_name(&mut self, path: &str, name: &str, place: Place) -> bool {
        let can = is_nameable(name);
        if !can {
            self.unnameable(path, name, place);
        }
        can
    }

    /// Records a field that is left out because of its name.
    pub(crate) fn unnameable(&mut self, path: &str, name: &str, place: Place) {
        let why = if name.contains('\0') { NULL_IN_NAME } else { "not a field name" };
        // The name is printed, so a null character is shown as an escape.
        let shown = name.replace('\0', "\\0");
        self.loosened(&join(path, &shown), shown, why, place);
    }

    /// Records a note that is not about a restriction.
    pub(crate) fn noted(
        &mut self,
        path: &str,
        what: impl Into<String>,
        why: impl Into<String>,
        place: Place,
    ) {
        self.leave_out(path, what.into(), why.into(), place, false);
    }

    fn leave_out(&mut self, path: &str, what: String, why: String, place: Place, loosens: bool) {
        let one = LeftOut { path: path.to_owned(), what, why, place, loosens };
        if self.left_out.len() < MAX_LEFT_OUT && !self.left_out.contains(&one) {
            self.left_out.push(one);
        }
    }

    /// Runs `inside` one level deeper, unless a limit is reached.
    pub(crate) fn deeper(
        &mut self,
        path: &str,
        place: Place,
        inside: impl FnOnce(&mut Self) -> Shape,
    ) -> Shape {
        self.parts += 1;
        if self.depth >= MAX_DEPTH || self.parts > MAX_PARTS {
            let why = if self.depth >= MAX_DEPTH { "nested too deeply" } else { "too many parts" };
            self.loosened(path, "everything from here on", why, place);
            return Shape::default();
        }
        self.depth += 1;
        let shape = inside(self);
        self.depth -= 1;
        shape
    }

    /// Runs `inside` to read the named type `name`, unless that type is being read already.
    pub(crate) fn named(
        &mut self,
        name: &str,
        path: &str,
        place: Place,
        inside: impl FnOnce(&mut Self) -> Shape,
    ) -> Shape {
        if self.open.iter().any(|open| open == name) {
            let why = "it contains itself, which a schema cannot express; deeper levels accept \
             any object";
            self.loosened(path, name, why, place);
            return Shape::object();
        }
        self.open.push(name.to_owned());
        let shape = self.deeper(path, place, inside);
        self.open.pop();
        shape
    }

    /// Runs `inside` to read the contents of a field. If `checked` is false, validators do not
    /// check these contents.
    pub(crate) fn looked_into(
        &mut self,
        checked: bool,
        inside: impl FnOnce(&mut Self) -> Shape,
    ) -> Shape {
        self.unchecked += usize::from(!checked);
        let shape = inside(self);
        self.unchecked -= usize::from(!checked);
        shape
    }

    /// Whether validators check what is being read.
    pub(crate) fn is_checked(&self) -> bool {
        self.unchecked == 0
    }

    /// Returns the finished model.
    pub(crate) fn finish(
        self,
        name: impl Into<String>,
        collection: Option<String>,
        declared_at: Place,
        shape: Shape,
    ) -> Model {
        Model {
            name: name.into(),
            collection,
            embedded: false,
            schema: shape.render(),
            declared_at,
            fields: self.fields,
            generated: self.generated,
            left_out: self.left_out,
        }
    }
}

/// Returns the path of a field inside another.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Why a field whose name has a null character is left out. BSON ends a name there, so no driver writes
/// such a field, and [`crate::read`] reports the declaration as a problem.
pub(crate) const NULL_IN_NAME: &str = "MongoDB does not allow a null character in a field name";

/// Whether a schema can name this field. In schemas, a dot separates the levels of a path.
pub(crate) fn is_nameable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', '\0'])
}
