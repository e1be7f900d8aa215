//! Questions on a terminal, in plain lines: what is shown, what is understood, and in which order.

mod approval;
mod desk;
mod form;
mod render;

pub(crate) use desk::Desk;

use form::Form;
use troupe_core::policy::{Answer, Question};

/// What a line is taken for.
#[derive(Debug, PartialEq)]
pub(crate) enum Reading {
    /// The answer.
    Answer(Answer),
    /// The answer to one of several questions; the next one follows.
    Next(String),
    /// Nothing: the question is put again.
    Unclear,
}

/// The question in lines; `given` is what was answered of several so far.
pub(crate) fn prompt(question: &Question, given: &[String]) -> String {
    let asker = render::asker(question);
    match Form::of(question) {
        Some(form) => form.prompt(&asker, given),
        None if approval::is_one(question) => approval::prompt(question, &asker),
        None => render::prompt(question, &asker),
    }
}

/// Understands a line.
pub(crate) fn read(line: &str, question: &Question, given: &[String]) -> Reading {
    match Form::of(question) {
        Some(form) => form.read(line, given),
        None if approval::is_one(question) => approval::read(line),
        None => render::choice(line, question)
            .map_or(Reading::Unclear, |choice| Reading::Answer(choice.answer(question))),
    }
}
