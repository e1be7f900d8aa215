//! The last good reading of each file. A session that reads its settings again goes on with it where a file is
//! half-written or broken, so that no rule that denies is lost by a slip.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::document::{Document, SettingsFault};
use super::layer::Candidate;
use super::schema::check;

/// What each file last said.
#[derive(Debug, Default)]
pub struct Kept {
    documents: HashMap<PathBuf, Document>,
}

impl Kept {
    /// Reads a file, or takes what it last said when it can't be understood. One that is not there says
    /// nothing, and is forgotten.
    pub(super) fn read(&mut self, file: Candidate, faults: &mut Vec<SettingsFault>) -> Option<Document> {
        let path = file.path.clone();
        match Document::read(file) {
            Ok(None) => {
                self.documents.remove(&path);
                None
            }
            Ok(Some(document)) => {
                if let Some(kept) = self.documents.get(&path)
                    && let Some(fault) = damage(&document, kept)
                {
                    faults.push(fault);
                    return Some(kept.clone());
                }
                self.documents.insert(path, document.clone());
                Some(document)
            }
            Err(fault) => {
                faults.push(fault);
                self.documents.get(&path).cloned()
            }
        }
    }

    /// What the files of a folder last said that can't be listed any more, by name.
    pub(super) fn below(&self, folder: &Path) -> Vec<Document> {
        let mut files: Vec<_> = self.documents.iter().filter(|(path, _)| path.starts_with(folder)).collect();
        files.sort_by_key(|(path, _)| *path);
        files.into_iter().map(|(_, document)| document.clone()).collect()
    }
}

/// Whether a file that was good looks half-written, or has lost a rule to a wrong type.
fn damage(document: &Document, kept: &Document) -> Option<SettingsFault> {
    let from = document.origin.source.clone();
    if document.is_blank && !kept.object.is_empty() {
        return Some(SettingsFault::Unreadable { from, what: "it is empty".to_owned() });
    }
    let of_permissions = |fault: &SettingsFault| matches!(fault, SettingsFault::WrongType { key, .. } if key.starts_with("permissions"));
    check(&mut document.object.clone(), &from).into_iter().find(of_permissions)
}
