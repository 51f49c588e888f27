//! Pydantic and Beanie, type by type and argument by argument.

use crate::common::{field, left_out, one, required};
use docward_code::{Kind, Model, read};
use serde_json::{Value, json};

#[track_caller]
fn model(field: &str) -> Model {
    one(Kind::Pydantic, &format!("class M(BaseModel):\n    f: {field}\n"))
}

#[track_caller]
fn declared(text: &str) -> Value {
    field(&model(text), "f")
}

#[test]
fn types_are_what_is_written() {
    for (kind, expect) in [
        ("str", json!("string")),
        ("int", json!(["int", "long"])),
        ("float", json!("double")),
        ("bool", json!("bool")),
        ("bytes", json!("binData")),
        ("datetime", json!("date")),
        ("datetime.datetime", json!("date")),
        ("date", json!("date")),
        ("timedelta", json!("double")),
        ("Decimal", json!("decimal")),
        ("UUID", json!("binData")),
        ("uuid.UUID", json!("binData")),
        ("PydanticObjectId", json!("objectId")),
        ("ObjectId", json!("objectId")),
        ("dict", json!("object")),
        ("list", json!("array")),
        ("Optional[str]", json!(["string", "null"])),
        ("str | None", json!(["string", "null"])),
        ("None | int", json!(["int", "long", "null"])),
        ("Union[str, int]", json!(["string", "int", "long"])),
        ("'str'", json!("string")),
        ("Optional['int']", json!(["int", "long", "null"])),
        ("Indexed(str, unique=True)", json!("string")),
        ("None", json!("null")),
    ] {
        assert_eq!(declared(kind), json!({ "bsonType": expect }), "{kind}");
    }
    for kind in ["Any", "object", "Optional[Any]", "Union[str, Any]"] {
        assert_eq!(declared(kind), json!({}), "{kind}");
    }
}

#[test]
fn containers_and_restrictions_become_keywords() {
    let int = json!(["int", "long"]);
    for (kind, expect) in [
        ("List[int]", json!({ "bsonType": "array", "items": { "bsonType": int } })),
        (
            "set[str]",
            json!({ "bsonType": "array", "items": { "bsonType": "string" }, "uniqueItems": true }),
        ),
        (
            "tuple[str, int]",
            json!({ "bsonType": "array", "items": [{ "bsonType": "string" }, { "bsonType": int }],
            "additionalItems": false, "minItems": 2 }),
        ),
        ("tuple[str, ...]", json!({ "bsonType": "array", "items": { "bsonType": "string" } })),
        (
            "Dict[str, List[float]]",
            json!({ "bsonType": "object", "additionalProperties":
            { "bsonType": "array", "items": { "bsonType": "double" } } }),
        ),
        ("Literal['a', 2, None, True]", json!({ "enum": ["a", 2, null, true] })),
        ("Optional[Literal['a']]", json!({ "enum": ["a", null] })),
        ("PositiveInt", json!({ "bsonType": int, "minimum": 0, "exclusiveMinimum": true })),
        ("NonNegativeFloat", json!({ "bsonType": "double", "minimum": 0 })),
        (
            "constr(min_length=1, max_length=3)",
            json!({ "bsonType": "string", "minLength": 1, "maxLength": 3 }),
        ),
        (
            "conint(ge=1, lt=5, multiple_of=2)",
            json!({ "bsonType": int, "minimum": 1, "maximum": 5,
            "exclusiveMaximum": true, "multipleOf": 2 }),
        ),
        (
            "conlist(str, min_items=1, max_items=4)",
            json!({ "bsonType": "array", "items": { "bsonType": "string" },
            "minItems": 1, "maxItems": 4 }),
        ),
        (
            "str = Field(..., min_length=2, pattern=r'^\\d+$')",
            json!({ "bsonType": "string", "minLength": 2, "pattern": "^\\d+$" }),
        ),
        ("str = Field(regex='ab')", json!({ "bsonType": "string", "pattern": "^(?:ab)" })),
        (
            "list[int] = Field(min_length=1, max_length=4)",
            json!({ "bsonType": "array",
            "items": { "bsonType": int }, "minItems": 1, "maxItems": 4 }),
        ),
        (
            "float = Field(gt=0, le=1.5)",
            json!({ "bsonType": "double", "minimum": 0, "exclusiveMinimum": true,
            "maximum": 1.5 }),
        ),
        (
            "Annotated[int, Field(ge=-1), Lt(10)]",
            json!({ "bsonType": int, "minimum": -1, "maximum": 10,
            "exclusiveMaximum": true }),
        ),
        (
            "Annotated[str, StringConstraints(max_length=9)]",
            json!({ "bsonType": "string", "maxLength": 9 }),
        ),
        (
            "Annotated[list[Annotated[str, Len(1, 2)]], MaxLen(3)]",
            json!({ "bsonType": "array",
            "items": { "bsonType": "string", "minLength": 1, "maxLength": 2 }, "maxItems": 3 }),
        ),
        (
            "Optional[int] = Field(None, ge=0, title='T', description='D')",
            json!({ "title": "T", "description": "D", "bsonType": ["int", "long", "null"], "minimum": 0 }),
        ),
        (
            "Link[User]",
            json!({ "bsonType": "object", "required": ["$ref", "$id"],
            "properties": { "$ref": { "bsonType": "string" }, "$id": {} } }),
        ),
        (
            "Union[List[int], str, None]",
            json!({ "anyOf": [
            { "bsonType": "array", "items": { "bsonType": int } }, { "bsonType": "string" }, { "bsonType": "null" }] }),
        ),
    ] {
        assert_eq!(declared(kind), expect, "{kind}");
    }
}

#[test]
fn fields_without_default_are_required() {
    for (kind, expect) in [
        ("int", true),
        ("int = 3", false),
        ("int = Field(...)", true),
        ("int = Field(gt=1)", true),
        ("int = Field(default=1)", false),
        ("list = Field(default_factory=list)", false),
        ("Optional[int]", true),
        ("Optional[int] = None", false),
        ("Annotated[int, Field(default=1)]", false),
        ("Annotated[int, Field(gt=1)]", true),
    ] {
        assert_eq!(required(&model(kind)).contains(&"f".to_owned()), expect, "{kind}");
    }
    let old = "from pydantic import BaseModel, validator\nclass M(BaseModel):\n    f: Optional[int]\n    g: int\n";
    assert_eq!(required(&one(Kind::Pydantic, old)), ["g"]);
    let lean = "class M(Document):\n    f: Optional[int]\n    class Settings:\n        keep_nulls = False\n";
    let lean = one(Kind::Pydantic, lean);
    assert_eq!(required(&lean), Vec::<String>::new());
    assert_eq!(field(&lean, "f"), json!({ "bsonType": ["int", "long"] }));
}

#[test]
fn what_code_decides_is_listed() {
    for (kind, expect) in [
        ("EmailStr", vec!["EmailStr"]),
        ("HttpUrl", vec!["HttpUrl"]),
        ("Elsewhere", vec!["Elsewhere"]),
        ("Page[int]", vec!["Page[int]"]),
        ("int = 3", vec!["default 3"]),
        ("Decimal = Field(max_digits=5)", vec!["max_digits=5"]),
        ("Annotated[str, AfterValidator(check)]", vec!["AfterValidator(…)"]),
        ("int = Field(gt=LOWEST)", vec!["gt=LOWEST"]),
        ("datetime = Field(gt=0)", vec!["gt=0"]),
        ("str = Field(pattern='(')", vec!["pattern=\"(\""]),
    ] {
        assert_eq!(left_out(&model(kind), "f"), expect, "{kind}");
    }
    let text = "class M(BaseModel):\n    a: str\n    @field_validator('a')\n    def check(cls, v): return v\n    \
                @model_validator(mode='after')\n    def all(self): return self\n";
    let model = one(Kind::Pydantic, text);
    assert_eq!(left_out(&model, "a"), ["validator check"]);
    assert_eq!(left_out(&model, ""), ["validator all"]);
}

#[test]
fn documents_of_beanie_have_collections_and_ids() {
    for (text, collection, id) in [
        ("class A(Document):\n    x: int\n", Some("A"), json!("objectId")),
        (
            "class A(Document):\n    id: str\n    class Settings:\n        name = 'as'\n",
            Some("as"),
            json!("string"),
        ),
        (
            "class A(beanie.Document):\n    id: UUID = Field(default_factory=uuid4)\n",
            Some("A"),
            json!("binData"),
        ),
        (
            "class A(BaseModel):\n    id: Optional[PyObjectId] = Field(alias='_id', default=None)\n",
            None,
            json!("objectId"),
        ),
        ("class A(BaseModel):\n    x: int\n", None, json!("objectId")),
    ] {
        let model = one(Kind::Pydantic, text);
        assert_eq!(model.collection.as_deref(), collection, "{text}");
        assert_eq!(field(&model, "_id"), json!({ "bsonType": id }), "{text}");
        assert!(!required(&model).contains(&"_id".to_owned()), "{text}");
    }
}

#[test]
fn classes_inherit_and_close() {
    let text = "class Base(BaseModel):\n    model_config = {'extra': 'forbid'}\n    a: int\n    b: str\n\n\
                class Sub(Base):\n    b: int = 1\n    c: bool\n\nclass Old(BaseModel):\n    x: int\n    class Config:\n        extra = Extra.forbid\n";
    let models = read(Kind::Pydantic, text).models;
    assert_eq!(
        models.iter().map(|m| (m.name.as_str(), m.embedded)).collect::<Vec<_>>(),
        [("Base", true), ("Sub", false), ("Old", false)]
    );
    assert_eq!(required(&models[1]), ["a", "c"]);
    assert_eq!(field(&models[1], "b"), json!({ "bsonType": ["int", "long"] }));
    for model in &models {
        assert_eq!(
            model.schema.get_bool("additionalProperties").ok(),
            Some(false),
            "{}",
            model.name
        );
        assert!(model.schema.get_document("properties").unwrap().contains_key("_id"));
    }
}

#[test]
fn enumerations_aliases_and_classes_that_hold_each_other_are_followed() {
    let text = "UserId = NewType('UserId', int)\ntype Name = str\nAlias = 'Alias'\n\
                class E(str, Enum):\n    A = 'a'\n    B = 'b'\n\nclass F(Enum):\n    X = auto()\n    Y = auto()\n\n\
                class A(BaseModel):\n    id: UserId\n    name: Name\n    e: E\n    x: Literal[E.A]\n    f: F\n    loop: Alias\n    b: 'B'\n\n\
                class B(BaseModel):\n    a: Optional[A] = None\n";
    let imported = read(Kind::Pydantic, text);
    crate::common::all_compile(&imported);
    let model = &imported.models[0];
    assert_eq!(field(model, "id"), json!({ "bsonType": ["int", "long"] }));
    assert_eq!(field(model, "name"), json!({ "bsonType": "string" }));
    assert_eq!(field(model, "e"), json!({ "enum": ["a", "b"] }));
    assert_eq!(field(model, "x"), json!({ "enum": ["a"] }));
    assert_eq!(field(model, "f"), json!({ "enum": [1, 2] }));
    assert_eq!(field(model, "b.a"), json!({ "bsonType": ["object", "null"] }));
    assert_eq!(left_out(model, "b.a"), ["A"]);
}

#[test]
fn roots_are_stored_as_what_they_hold() {
    for root in [
        "class Tags(RootModel[List[str]]):\n    pass\n",
        "class Tags(RootModel):\n    root: List[str]\n",
        "class Tags(BaseModel):\n    __root__: List[str]\n",
    ] {
        let text = format!("{root}class M(BaseModel):\n    f: Tags\n");
        let f = field(&one(Kind::Pydantic, &text), "f");
        assert_eq!(f, json!({ "bsonType": "array", "items": { "bsonType": "string" } }), "{root}");
    }
}

#[test]
fn gc_52_whole_defaults_of_floats_are_written_as_they_are() {
    assert_eq!(declared("float = 0")["bsonType"], json!(["double", "int", "long"]));
    assert_eq!(declared("float = Field(1, ge=0)")["bsonType"], json!(["double", "int", "long"]));
    assert_eq!(declared("float = 0.5")["bsonType"], json!("double"));
    assert_eq!(declared("int = 0")["bsonType"], json!(["int", "long"]));
}

#[test]
fn pt_poly_1_classes_below_a_root_are_in_its_collection() {
    let text = "class Vehicle(Document):\n    wheels: int\n    class Settings:\n        name = \"vehicles\"\n        is_root = True\n\n\
                class Car(Vehicle):\n    doors: int\n\nclass Van(Car):\n    load: int\n";
    let model = one(Kind::Pydantic, text);
    assert_eq!((model.name.as_str(), model.collection.as_deref()), ("Vehicle", Some("vehicles")));
    assert!(!model.embedded);
    assert_eq!(required(&model), ["wheels"]);
    assert_eq!(left_out(&model, ""), ["is_root"]);
}
