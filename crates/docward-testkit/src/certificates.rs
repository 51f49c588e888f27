//! A certificate authority for one test, and the certificates it signed.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

/// PEM files, in the directory they were created for.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The server's certificate and key, for `127.0.0.1` and `localhost`.
    pub server: PathBuf,
    /// A client's certificate and key.
    pub client: PathBuf,
    /// The client's subject, as the server writes it: the name of an X.509 user.
    pub client_subject: String,
}

impl Certificates {
    /// Creates an authority, and a certificate for the server and the client.
    pub fn make(directory: &Path) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name = name("Docward test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority =
            write(directory, "ca.pem", &[params.self_signed(&key).expect("a certificate").pem()]);
        let issuer = Issuer::new(params, key);
        let signed = |file: &str, subject: &str, names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let mut params = CertificateParams::new(names).expect("valid names");
            params.distinguished_name = name(subject);
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().expect("a key");
            let certificate = params.signed_by(&key, &issuer).expect("a certificate");
            write(directory, file, &[key.serialize_pem(), certificate.pem()])
        };
        Self {
            authority,
            server: signed("server.pem", "server", &["127.0.0.1", "localhost"]),
            client: signed("client.pem", "auditor", &[]),
            client_subject: "CN=auditor,O=Docward".to_owned(),
        }
    }
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // The server and its clients must have different organisations, or clients count as members.
    let organisation = if common == "server" { "Docward servers" } else { "Docward" };
    name.push(DnType::OrganizationName, organisation);
    name.push(DnType::CommonName, common);
    name
}

fn write(directory: &Path, file: &str, parts: &[String]) -> PathBuf {
    let path = directory.join(file);
    std::fs::write(&path, parts.concat()).expect("the directory can be written to");
    path
}
