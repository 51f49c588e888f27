//! Every generated client is valid in its language for all options; this needs no drivers. Rust is
//! left to the compiler.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_connect::{
    Method,
    sdk::{GoVersion, SdkLanguage, SdkRequest, client},
};
use docward_model::ServiceClass;
use tree_sitter::Parser;

fn grammar(language: SdkLanguage) -> Option<tree_sitter::Language> {
    Some(match language {
        SdkLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        SdkLanguage::Java => tree_sitter_java::LANGUAGE.into(),
        SdkLanguage::Node => tree_sitter_javascript::LANGUAGE.into(),
        SdkLanguage::Go => tree_sitter_go::LANGUAGE.into(),
        SdkLanguage::Rust => return None,
    })
}

#[test]
fn sdk_go_2_sdk_all_2_every_client_is_a_program_of_its_language() {
    let classes = [None, Some(ServiceClass::Core), Some(ServiceClass::ReadHeavy)];
    for language in SdkLanguage::ALL {
        let Some(grammar) = grammar(language) else { continue };
        let mut parser = Parser::new();
        parser.set_language(&grammar).unwrap();
        let methods = Method::ALL.iter().map(|method| vec![*method]).chain([Vec::new()]);
        for methods in methods {
            for go in [GoVersion::V1, GoVersion::V2] {
                for class in classes {
                    let request = SdkRequest {
                        methods: methods.clone(),
                        go,
                        class,
                        ..SdkRequest::new(language, "1")
                    };
                    let text = client(&request);
                    let tree = parser.parse(&text, None).unwrap();
                    assert!(!tree.root_node().has_error(), "{}: {text}", language.name());
                }
            }
        }
    }
}

#[test]
fn sdk_all_1_every_option_is_in_every_client_or_named_as_missing() {
    for language in SdkLanguage::ALL {
        let request =
            SdkRequest { class: Some(ServiceClass::ReadHeavy), ..SdkRequest::new(language, "1") };
        let text = client(&request).to_lowercase().replace('_', "");
        for (option, words) in [
            ("maxPoolSize", &["maxpoolsize", "maxsize(150)"][..]),
            ("minPoolSize", &["minpoolsize", "minsize(10)"]),
            ("maxIdleTimeMS", &["maxidletime", "maxconnidletime", "maxconnectionidletime"]),
            ("waitQueueTimeoutMS", &["waitqueuetimeoutms", "maxwaittime"]),
            ("connectTimeoutMS", &["connecttimeout"]),
            ("serverSelectionTimeoutMS", &["serverselectiontimeout"]),
            ("retryWrites", &["retrywrites"]),
            ("retryReads", &["retryreads"]),
            ("w", &["majority"]),
            ("readPreference", &["secondarypreferred"]),
            ("authSource", &["authsource"]),
        ] {
            assert!(words.iter().any(|word| text.contains(word)), "{}: {option}", language.name());
        }
    }
}

#[test]
fn the_same_request_gives_the_same_file() {
    for language in SdkLanguage::ALL {
        let request = SdkRequest::new(language, "1");
        assert_eq!(client(&request), client(&request));
    }
}
