//! Names of methods of collections, in the spelling of any driver.

/// Methods whose first argument after an optional context is a filter.
const FILTERED: [&str; 15] = [
    "countDocuments",
    "deleteMany",
    "deleteOne",
    "exists",
    "find",
    "findOne",
    "findOneAndDelete",
    "findOneAndRemove",
    "findOneAndReplace",
    "findOneAndUpdate",
    "remove",
    "replaceOne",
    "update",
    "updateMany",
    "updateOne",
];

/// Methods that only drivers and mappers of MongoDB have.
const OF_MONGODB: [&str; 11] = [
    "countDocuments",
    "deleteMany",
    "deleteOne",
    "estimatedDocumentCount",
    "findOneAndDelete",
    "findOneAndReplace",
    "findOneAndUpdate",
    "insertOne",
    "replaceOne",
    "updateMany",
    "updateOne",
];

/// Whether only drivers and mappers of MongoDB have a method of this name.
pub(super) fn is_of_mongodb(method: &str) -> bool {
    OF_MONGODB.iter().any(|name| method_is(method, name))
}

/// Whether the first argument of a method, after an optional context, is a filter.
pub(super) fn takes_filter(method: &str) -> bool {
    FILTERED.iter().any(|name| method_is(method, name))
}

/// Whether a method has a name: `find_one`, `findOne` and `FindOne` are the same one.
pub(super) fn method_is(method: &str, name: &str) -> bool {
    let letters = method.bytes().filter(|byte| *byte != b'_');
    letters
        .map(|byte| byte.to_ascii_lowercase())
        .eq(name.bytes().map(|byte| byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::{is_of_mongodb, method_is, takes_filter};

    #[test]
    fn spellings_of_all_drivers_are_one_name() {
        for method in ["findOneAndUpdate", "find_one_and_update", "FindOneAndUpdate"] {
            assert!(method_is(method, "findOneAndUpdate") && takes_filter(method), "{method}");
        }
        assert!(!method_is("findOneBy", "findOne"));
        for method in ["insertOne", "insert_many", "aggregate", "findById"] {
            assert!(!takes_filter(method), "{method}");
        }
        assert!(is_of_mongodb("update_one") && is_of_mongodb("CountDocuments"));
        assert!(!is_of_mongodb("findOne") && !is_of_mongodb("update"));
    }

    #[test]
    fn a_file_that_calls_methods_of_drivers_matters() {
        assert!(crate::may_matter(b"req.app.db.users.updateOne({}, {})"));
        assert!(crate::may_matter(b"self.c.update_one({}, {})"));
        assert!(!crate::may_matter(b"orders.findOne(1); list.update(2)"));
    }
}
