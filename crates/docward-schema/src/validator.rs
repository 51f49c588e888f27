//! Validators: the constraints of a collection on its documents, as `$jsonSchema`, as query
//! conditions, or as both.

use bson::Document;
use docward_bson::walk::{Fault, count_elements};

use crate::{
    SchemaFault,
    evaluate::Subject,
    explain::{Extent, Violation, explain, violations_of},
    parse,
    schema::Expr,
};

/// The compiled `validator` of a collection.
///
/// ```
/// use bson::doc;
/// use docward_schema::Validator;
///
/// let bytes = |document| bson::serialize_to_vec(&document).unwrap();
/// let validator = Validator::compile(&bytes(doc! { "age": { "$gte": 18 } })).unwrap();
/// assert!(validator.accepts(&bytes(doc! { "age": 20 })).unwrap());
/// let refused = bytes(doc! { "age": 7 });
/// let details = validator.explain(&refused).unwrap().unwrap();
/// assert_eq!(details.get_str("reason").unwrap(), "comparison failed");
/// let violations = validator.violations(&refused).unwrap();
/// assert_eq!((&*violations[0].path, &*violations[0].keyword), ("age", "$gte"));
/// ```
#[derive(Debug)]
pub struct Validator {
    root: Expr,
}

/// The reason why a validator cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValidatorFault {
    /// The server would refuse it, with this code and message.
    #[error(transparent)]
    Refused(SchemaFault),
    /// The server accepts it, but it has an operator that is not evaluated offline.
    #[error("{operator} is not evaluated offline")]
    NotEvaluated {
        /// The first such operator, such as `$expr`.
        operator: String,
    },
}

impl Validator {
    /// Compiles a validator from BSON. An empty one accepts everything.
    pub fn compile(validator: &[u8]) -> Result<Self, ValidatorFault> {
        let read = parse::validator(validator).map_err(ValidatorFault::Refused)?;
        match read.unevaluated {
            None => Ok(Self { root: read.root }),
            Some(operator) => Err(ValidatorFault::NotEvaluated { operator }),
        }
    }

    /// Returns whether a document is valid. A damaged document is a fault, not a verdict.
    pub fn accepts(&self, document: &[u8]) -> Result<bool, Fault> {
        self.root.holds(Subject::Fields(document))
    }

    /// Explains why a document is refused, in the format of the server's `errInfo.details`; `None`
    /// if it is valid.
    pub fn explain(&self, document: &[u8]) -> Result<Option<Document>, Fault> {
        self.details(document, Extent::First)
    }

    /// The violations of a document, without repetitions, in the order of the explanation; empty if
    /// it is valid. Where the server reports only the first element or property that fails a
    /// schema, all of them are reported.
    pub fn violations(&self, document: &[u8]) -> Result<Vec<Violation>, Fault> {
        match self.details(document, Extent::All)? {
            None => Ok(Vec::new()),
            Some(details) => violations_of(&details, document),
        }
    }

    fn details(&self, document: &[u8], extent: Extent) -> Result<Option<Document>, Fault> {
        if self.accepts(document)? {
            return Ok(None);
        }
        // Values are shown completely, so all of them have to be undamaged.
        count_elements(document)?;
        explain(&self.root, document, extent).map(Some)
    }
}
