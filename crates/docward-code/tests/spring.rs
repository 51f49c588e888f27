//! Spring Data, type by type and annotation by annotation.

use crate::common::{field, left_out, one, required};
use docward_code::{Kind, Model, read};
use serde_json::json;

#[track_caller]
fn model(fields: &str) -> Model {
    one(
        Kind::Spring,
        &format!("@Document class M {{\n{fields}\n}}\nenum Colour {{ RED, GREEN }}\n"),
    )
}

#[test]
fn types_are_what_the_converter_writes() {
    for (kind, expect) in [
        ("String", json!({ "bsonType": "string" })),
        ("int", json!({ "bsonType": "int" })),
        ("Integer", json!({ "bsonType": "int" })),
        ("short", json!({ "bsonType": "int" })),
        ("long", json!({ "bsonType": "long" })),
        ("Long", json!({ "bsonType": "long" })),
        ("double", json!({ "bsonType": "double" })),
        ("Float", json!({ "bsonType": "double" })),
        ("boolean", json!({ "bsonType": "bool" })),
        ("char", json!({ "bsonType": "string" })),
        ("BigDecimal", json!({ "bsonType": ["decimal", "string"] })),
        ("Date", json!({ "bsonType": "date" })),
        ("java.time.Instant", json!({ "bsonType": "date" })),
        ("LocalDateTime", json!({ "bsonType": "date" })),
        ("LocalDate", json!({ "bsonType": "date" })),
        ("UUID", json!({ "bsonType": "binData" })),
        ("ObjectId", json!({ "bsonType": "objectId" })),
        ("byte[]", json!({ "bsonType": "binData" })),
        ("int[]", json!({ "bsonType": "array", "items": { "bsonType": "int" } })),
        ("List<String>", json!({ "bsonType": "array", "items": { "bsonType": "string" } })),
        (
            "List<? extends String>",
            json!({ "bsonType": "array", "items": { "bsonType": "string" } }),
        ),
        ("List", json!({ "bsonType": "array" })),
        (
            "Set<Long>",
            json!({ "bsonType": "array", "items": { "bsonType": "long" }, "uniqueItems": true }),
        ),
        (
            "Map<String, List<Integer>>",
            json!({ "bsonType": "object", "additionalProperties":
            { "bsonType": "array", "items": { "bsonType": "int" } } }),
        ),
        ("Optional<String>", json!({ "bsonType": "string" })),
        ("Colour", json!({ "bsonType": "string", "enum": ["RED", "GREEN"] })),
        ("Object", json!({})),
    ] {
        let model = model(&format!("private {kind} f;"));
        assert_eq!(field(&model, "f"), expect, "{kind}");
        let primitive = matches!(kind, "int" | "short" | "long" | "double" | "boolean" | "char");
        assert_eq!(!required(&model).is_empty(), primitive, "{kind}");
    }
}

#[test]
fn annotations_become_keywords() {
    for (declaration, expect, needed) in [
        ("@NotNull String f;", json!({ "bsonType": "string" }), true),
        ("@NotBlank String f;", json!({ "bsonType": "string", "pattern": "\\S" }), true),
        ("@NotEmpty String f;", json!({ "bsonType": "string", "minLength": 1 }), true),
        (
            "@NotEmpty List<String> f;",
            json!({ "bsonType": "array", "items": { "bsonType": "string" }, "minItems": 1 }),
            true,
        ),
        (
            "@Size(min = 1, max = 4) String f;",
            json!({ "bsonType": "string", "minLength": 1, "maxLength": 4 }),
            false,
        ),
        (
            "@Size(max = 4) Map<String, String> f;",
            json!({ "bsonType": "object",
            "additionalProperties": { "bsonType": "string" }, "maxProperties": 4 }),
            false,
        ),
        (
            "@Min(1) @Max(10L) Integer f;",
            json!({ "bsonType": "int", "minimum": 1, "maximum": 10 }),
            false,
        ),
        (
            "@Positive Long f;",
            json!({ "bsonType": "long", "minimum": 0, "exclusiveMinimum": true }),
            false,
        ),
        ("@NegativeOrZero Long f;", json!({ "bsonType": "long", "maximum": 0 }), false),
        (
            "@DecimalMin(value = \"0.5\", inclusive = false) Double f;",
            json!({ "bsonType": "double", "minimum": 0.5, "exclusiveMinimum": true }),
            false,
        ),
        (
            "@Pattern(regexp = \"[a-z]+\\\\d\") String f;",
            json!({ "bsonType": "string", "pattern": "^(?:[a-z]+\\d)$" }),
            false,
        ),
        ("@AssertTrue Boolean f;", json!({ "bsonType": "bool", "enum": [true] }), false),
        (
            "List<@Size(max = 3) String> f;",
            json!({ "bsonType": "array",
            "items": { "bsonType": "string", "maxLength": 3 } }),
            false,
        ),
        (
            "@Field(targetType = FieldType.DECIMAL128) BigDecimal f;",
            json!({ "bsonType": "decimal" }),
            false,
        ),
        (
            "@Field(write = Field.Write.ALWAYS) String f;",
            json!({ "bsonType": ["string", "null"] }),
            false,
        ),
        (
            "@DBRef List<Other> f;",
            json!({ "bsonType": "array", "items": { "bsonType": "object",
            "required": ["$ref", "$id"], "properties": { "$ref": { "bsonType": "string" }, "$id": {} } } }),
            false,
        ),
        ("String f[];", json!({ "bsonType": "array", "items": { "bsonType": "string" } }), false),
    ] {
        let model = model(declaration);
        assert_eq!(field(&model, "f"), expect, "{declaration}");
        assert_eq!(!required(&model).is_empty(), needed, "{declaration}");
    }
}

#[test]
fn names_ids_and_collections_are_spring_s() {
    for (text, collection) in [
        ("@Document class UserAccount { String a; }", Some("userAccount")),
        ("@Document() class A { String a; }", Some("a")),
        ("@Document(\"users\") class A { String a; }", Some("users")),
        ("@Document(collection = \"users\") class A { String a; }", Some("users")),
        ("@Document(value = \"users\", language = \"en\") class A { String a; }", Some("users")),
        ("@Document(language = \"en\") class A { String a; }", Some("a")),
        (
            "@Document(collection = A.NAME) class A { static final String NAME = \"as\"; String a; }",
            Some("as"),
        ),
        ("@Document(\"#{tenant.name()}\") class A { String a; }", None),
    ] {
        let model = one(Kind::Spring, text);
        assert_eq!(model.collection.as_deref(), collection, "{text}");
        assert_eq!(field(&model, "_class"), json!({ "bsonType": "string" }));
    }
    for (declaration, expect) in [
        ("@Id String key;", json!(["objectId", "string"])),
        ("String id;", json!(["objectId", "string"])),
        ("@MongoId String key;", json!("string")),
        ("@MongoId(FieldType.OBJECT_ID) String key;", json!("objectId")),
        ("@Id Long key;", json!("long")),
        ("String other;", json!("objectId")),
    ] {
        assert_eq!(
            field(&model(declaration), "_id"),
            json!({ "bsonType": expect }),
            "{declaration}"
        );
    }
    let renamed =
        model("@Field(\"a\") String x; @Field(name = \"b\") int y; static int z; transient int t;");
    assert_eq!(renamed.fields.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_a_schema_cannot_say_is_listed() {
    for (declaration, expect) in [
        ("@Email String f;", "@Email"),
        ("@Past Instant f;", "@Past"),
        ("@Digits(integer = 3, fraction = 2) Double f;", "@Digits(integer = 3, fraction = 2)"),
        ("@Indexed(unique = true) String f;", "@Indexed(unique = true)"),
        ("@Iban String f;", "@Iban"),
        ("@Transient String f;", "@Transient"),
        ("@DocumentReference Other f;", "@DocumentReference"),
        ("Elsewhere f;", "Elsewhere"),
        ("BigDecimal f;", "BigDecimal"),
        ("@Min(LOWEST) Integer f;", "@Min(LOWEST)"),
    ] {
        assert_eq!(left_out(&model(declaration), "f"), [expect], "{declaration}");
    }
}

#[test]
fn classes_inherit_nest_and_end() {
    let text = "class Base extends Unknown { @NotNull String a; }\n@Document class M extends Base { Node n; \
                @Unwrapped.Nullable(prefix = \"x_\") Part part; @Unwrapped(prefix = \"y_\") Part other; }\n\
                class Node { List<Node> children; }\nrecord Part(int p) {}";
    let model = one(Kind::Spring, text);
    assert_eq!(required(&model), ["a"]);
    assert_eq!(field(&model, "n.children[]"), json!({ "bsonType": "object" }));
    assert_eq!(left_out(&model, "n.children[]"), ["Node"]);
    assert_eq!(left_out(&model, ""), ["Unknown"]);
    assert_eq!(field(&model, "y_p"), json!({ "bsonType": "int" }));
}

#[test]
fn files_of_parts_are_read_too() {
    let models = read(Kind::Spring, "class A { B b; }\nclass B { int x; }\ninterface C {}").models;
    let all: Vec<_> =
        models.iter().map(|m| (m.name.as_str(), m.embedded, m.collection.clone())).collect();
    assert_eq!(all, [("A", false, None), ("B", true, None)]);
}

#[test]
fn objects_are_looked_into_where_valid_says_so() {
    let minimum = |mark: &str| {
        let text = format!(
            "@Document class M {{\n  {mark} Part part;\n  List<{mark} Part> parts;\n}}\nclass Part {{\n  @Min(1) int n;\n}}\n"
        );
        let models = read(Kind::Spring, &text).models;
        let model = models.iter().find(|model| model.name == "M").unwrap();
        ["part.n", "parts[].n"].map(|path| field(model, path).get("minimum").is_some())
    };
    assert_eq!(minimum("@Valid"), [true, true]);
    assert_eq!(minimum(""), [false, false]);
}
