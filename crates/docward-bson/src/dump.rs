//! Decodes the format of `.bson` files: contiguous documents, each beginning with its own length.
//!
//! Skipping from length to length finds document boundaries without parsing the content, so a file
//! can be split into blocks at the speed of memory. `walk` validates the content.

/// The shortest possible document: a length and a final NUL.
pub const MIN_DOCUMENT: usize = 5;

/// The longest document that is read. A greater length is damage, so no memory is allocated for it.
pub use crate::walk::MAX_DOCUMENT;

/// The extent of whole documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Bytes of whole documents at the start of the input.
    pub bytes: usize,
    /// The number of these documents.
    pub documents: u64,
    /// The content after them.
    pub next: Next,
}

/// The content after the last whole document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The input ends on a document boundary.
    End,
    /// An incomplete document.
    Partial {
        /// Bytes from its start that must be available before it can be skipped: its length, or 4
        /// if even the length is incomplete.
        needed: usize,
    },
    /// A whole document, beyond the requested number.
    Limit,
    /// Four bytes that are not the length of a document: the rest cannot be split into documents.
    BadLength {
        /// The four bytes as a number.
        length: i32,
    },
}

/// Skips whole documents at the start of `input`, at most `limit` of them.
///
/// ```
/// use docward_bson::dump::{Next, hop};
///
/// let empty = [5, 0, 0, 0, 0];
/// let input = [&empty[..], &empty, &[9, 0]].concat();
/// let hop = hop(&input, u64::MAX);
/// assert_eq!((hop.bytes, hop.documents), (10, 2));
/// assert_eq!(hop.next, Next::Partial { needed: 4 });
/// ```
pub fn hop(input: &[u8], limit: u64) -> Hop {
    let mut bytes = 0;
    let mut documents = 0;
    let next = loop {
        let rest = &input[bytes..];
        let Some(prefix) = rest.first_chunk::<4>() else {
            break if rest.is_empty() { Next::End } else { Next::Partial { needed: 4 } };
        };
        let length = i32::from_le_bytes(*prefix);
        let Some(size) = document_size(length) else {
            break Next::BadLength { length };
        };
        if size > rest.len() {
            break Next::Partial { needed: size };
        }
        if documents == limit {
            break Next::Limit;
        }
        bytes += size;
        documents += 1;
    };
    Hop { bytes, documents, next }
}

/// The size that a length prefix gives, if it is valid for a document.
pub fn document_size(length: i32) -> Option<usize> {
    usize::try_from(length).ok().filter(|size| (MIN_DOCUMENT..=MAX_DOCUMENT).contains(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes[..4].copy_from_slice(&(size as i32).to_le_bytes());
        bytes
    }

    #[test]
    fn every_cut_of_three_documents_is_told_apart() {
        let all = [document(5), document(12), document(7)].concat();
        let ends = [0, 5, 17, 24];
        for cut in 0..=all.len() {
            let hop = hop(&all[..cut], u64::MAX);
            let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
            assert_eq!((hop.bytes, hop.documents), (ends[whole], whole as u64), "cut at {cut}");
            match hop.next {
                Next::End => assert_eq!(cut, ends[whole]),
                Next::Partial { needed } if cut - ends[whole] < 4 => assert_eq!(needed, 4),
                Next::Partial { needed } => assert_eq!(needed, ends[whole + 1] - ends[whole]),
                other => panic!("{other:?} at {cut}"),
            }
        }
    }

    #[test]
    fn lengths_no_document_has_are_refused() {
        for length in [i32::MIN, -1, 0, 4, MAX_DOCUMENT as i32 + 1, i32::MAX] {
            let input = [&document(5)[..], &length.to_le_bytes(), &[0; 40]].concat();
            let hop = hop(&input, u64::MAX);
            assert_eq!((hop.bytes, hop.next), (5, Next::BadLength { length }));
        }
        let largest = hop(&(MAX_DOCUMENT as i32).to_le_bytes(), u64::MAX);
        assert_eq!(largest.next, Next::Partial { needed: MAX_DOCUMENT });
    }

    #[test]
    fn stops_at_the_limit() {
        let all = [document(5), document(6), document(7)].concat();
        assert_eq!(hop(&all, 2), Hop { bytes: 11, documents: 2, next: Next::Limit });
        assert_eq!(hop(&all, 3), Hop { bytes: 18, documents: 3, next: Next::End });
        assert_eq!(hop(&all, 0), Hop { bytes: 0, documents: 0, next: Next::Limit });
    }
}
