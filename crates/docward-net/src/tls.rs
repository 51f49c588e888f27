//! TLS for connections to servers and from clients, with certificates from PEM files.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or has the wrong content.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// The settings are invalid, for example because the key does not belong to the certificate.
    #[error("TLS: {0}")]
    Settings(#[from] rustls::Error),
}

/// TLS settings for connections to servers.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
}

impl std::fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsClient")
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl TlsClient {
    /// Creates TLS settings. `authorities` is a file with the CAs of the servers; by default the public CAs are used.
    /// `certificate` is a file with a client certificate and its key. `allow_invalid` accepts any server certificate.
    pub fn new(
        authorities: Option<&Path>,
        certificate: Option<&Path>,
        allow_invalid: bool,
    ) -> Result<Self, TlsError> {
        let roots = match authorities {
            Some(file) => roots_of(file)?,
            None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match certificate {
            Some(file) => {
                let (chain, key) = identity(file)?;
                builder.with_client_auth_cert(chain, key)?
            }
            None => builder.with_no_client_auth(),
        };
        if allow_invalid {
            config.dangerous().set_certificate_verifier(Arc::new(AnyServer(provider())));
        }
        Ok(Self { config: Arc::new(config) })
    }

    pub(crate) async fn wrap(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        Ok(TlsStream::Client(stream))
    }
}

/// TLS settings for connections from clients. Certificates can be reloaded.
pub struct TlsServer {
    certificate: PathBuf,
    authorities: Option<PathBuf>,
    config: RwLock<Arc<ServerConfig>>,
}

impl std::fmt::Debug for TlsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TlsServer({})", self.certificate.display())
    }
}

impl TlsServer {
    /// Creates TLS settings. `certificate` is a file with a certificate and its key. If `authorities` is given, clients
    /// must present a certificate that one of these CAs signed.
    pub fn new(certificate: &Path, authorities: Option<&Path>) -> Result<Self, TlsError> {
        let config = RwLock::new(server_config(certificate, authorities)?);
        let authorities = authorities.map(Path::to_owned);
        Ok(Self { certificate: certificate.to_owned(), authorities, config })
    }

    /// Reads the files again. Open connections are not affected.
    pub fn reload(&self) -> Result<(), TlsError> {
        let new = server_config(&self.certificate, self.authorities.as_deref())?;
        if let Ok(mut config) = self.config.write() {
            *config = new;
        }
        Ok(())
    }

    /// Performs the TLS handshake with a client.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config.read().map(|config| Arc::clone(&config));
        let config = config.map_err(|_| io::Error::other("TLS settings are not usable"))?;
        Ok(TlsStream::Server(TlsAcceptor::from(config).accept(stream).await?))
    }
}

fn server_config(
    certificate: &Path,
    authorities: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let (chain, key) = identity(certificate)?;
    let builder =
        ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let config = match authorities {
        Some(file) => {
            let roots = Arc::new(roots_of(file)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
            let verifier = verifier.map_err(|error| broken(file, &error))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config.with_single_cert(chain, key)?))
}

/// Returns the subject of a certificate in the format of RFC 2253, which lists the last part first.
pub(crate) fn subject(certificate: &CertificateDer<'_>) -> Option<Box<str>> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let registry = x509_parser::objects::oid_registry();
    let part = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        let name = x509_parser::objects::oid2abbrev(attribute.attr_type(), registry).ok()?;
        Some(format!("{name}={}", escaped(attribute.as_str().ok()?)))
    };
    let parts = parsed.subject().iter().map(|set| {
        let parts: Option<Vec<_>> = set.iter().map(part).collect();
        parts.map(|parts| parts.join("+"))
    });
    let parts: Option<Vec<String>> = parts.collect();
    let mut parts = parts?;
    parts.reverse();
    Some(parts.join(",").into())
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, letter) in text.chars().enumerate() {
        if ",+\"\\<>;".contains(letter) || at == 0 && "# ".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn broken(file: &Path, why: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { file: file.to_owned(), why: why.to_string() }
}

fn roots_of(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| broken(file, &error))?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| broken(file, &error))?;
    if found.is_empty() { Err(broken(file, &"contains no certificate")) } else { Ok(found) }
}

fn identity(
    file: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let key = PrivateKeyDer::from_pem_file(file).map_err(|error| broken(file, &error))?;
    Ok((certificates(file)?, key))
}

/// Accepts any server certificate, for `tlsAllowInvalidCertificates`. Handshake signatures are still checked.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
