//! PHP: fields of Doctrine and casts of Laravel.

use crate::common::{field, one};
use docward_code::{Kind, Model, read};
use serde_json::json;

#[track_caller]
fn document(fields: &str) -> Model {
    one(
        Kind::Php,
        &format!(
            "<?php use Doctrine\\ODM\\MongoDB\\Mapping\\Annotations as ODM;\n#[ODM\\Document]\nclass M {{\n{fields}\n}}\n"
        ),
    )
}

#[track_caller]
fn laravel(cast: &str) -> Model {
    one(
        Kind::Php,
        &format!(
            "<?php use MongoDB\\Laravel\\Eloquent\\Model;\nclass CartLine extends Model {{ protected $casts = ['f' => {cast}]; }}\n"
        ),
    )
}

#[test]
fn types_are_what_doctrine_writes() {
    for (field_type, expect) in [
        ("type: 'string'", json!({ "bsonType": "string" })),
        ("type: 'int'", json!({ "bsonType": ["int", "long"] })),
        ("type: 'float'", json!({ "bsonType": "double" })),
        ("type: Type::FLOAT", json!({ "bsonType": "double" })),
        ("type: 'float', nullable: true", json!({ "bsonType": ["double", "null"] })),
        ("type: 'boolean'", json!({ "bsonType": "bool" })),
        ("type: 'date_immutable'", json!({ "bsonType": "date" })),
        ("type: 'decimal128'", json!({ "bsonType": "decimal" })),
        ("type: 'object_id'", json!({ "bsonType": "objectId" })),
        ("type: 'bin_uuid'", json!({ "bsonType": "binData" })),
        ("type: 'raw'", json!({})),
    ] {
        let attribute = document(&format!("#[ODM\\Field({field_type})] private $f;"));
        assert_eq!(field(&attribute, "f"), expect, "{field_type}");
        let annotation = field_type.replace(": ", "=").replace('\'', "\"");
        let annotated = document(&format!("/** @ODM\\Field({annotation}) */ private $f;"));
        assert_eq!(field(&annotated, "f"), expect, "{annotation}");
    }
    for (declared, expect) in [
        ("float", json!({ "bsonType": "double" })),
        ("?string", json!({ "bsonType": "string" })),
        ("\\DateTimeImmutable", json!({ "bsonType": "date" })),
    ] {
        let model = document(&format!("#[ODM\\Field] private {declared} $f;"));
        assert_eq!(field(&model, "f"), expect, "{declared}");
    }
    assert_eq!(document("#[ODM\\Id] private $id;").collection.as_deref(), Some("M"));
}

#[test]
fn casts_are_what_an_application_works_with() {
    for (cast, expect) in [
        ("'float'", json!({ "bsonType": ["double", "int", "long", "null"] })),
        ("\"decimal:2\"", json!({ "bsonType": ["decimal", "string", "null"] })),
        ("'integer'", json!({ "bsonType": ["int", "long", "null"] })),
        ("'bool'", json!({ "bsonType": ["bool", "null"] })),
        ("State::class", json!({})),
    ] {
        let model = laravel(cast);
        assert_eq!(field(&model, "f"), expect, "{cast}");
        assert_eq!(model.collection.as_deref(), Some("cart_lines"));
    }
}

#[test]
fn models_of_other_databases_are_left_alone() {
    let sql = "<?php use Illuminate\\Database\\Eloquent\\Model;\nclass A extends Model { protected $casts = ['f' => 'float']; }";
    assert!(read(Kind::Php, sql).models.is_empty());
    let orm = "<?php use Doctrine\\ORM\\Mapping as ORM;\n#[ORM\\Entity] class A { #[ORM\\Column(type: 'float')] private $f; }";
    assert!(read(Kind::Php, orm).models.is_empty());
}
