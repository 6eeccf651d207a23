//! The text of a variant in pieces that can be taken away, which is how a failure is made small.

/// A field or declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// As written, with its semicolon.
    pub(crate) text: String,
    /// Simpler things that may stand in its place.
    pub(crate) simpler: Vec<Item>,
}

/// One variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: String,
    /// Its fields, in any order.
    pub(crate) items: Vec<Item>,
}

/// An expression and its parts of the same type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// As written, in parentheses where it needs them.
    pub(crate) text: String,
    /// Parts that may stand for the whole.
    pub(crate) parts: Vec<Term>,
}

impl Item {
    /// An item that is there or not.
    pub(crate) fn new(text: impl Into<String>) -> Item {
        Item {
            text: text.into(),
            simpler: Vec::new(),
        }
    }

    /// The name that it declares.
    fn declares(&self) -> Option<&str> {
        let rest = ["tensor ", "param ", "let "];
        let rest = rest.iter().find_map(|word| self.text.strip_prefix(word))?;
        rest.split(|c: char| !is_of_name(c)).next()
    }

    /// Whether a name stands in it.
    fn reads(&self, name: &str) -> bool {
        self.text
            .split(|c: char| !is_of_name(c))
            .any(|word| word == name)
    }

    /// `name = term;`
    pub(crate) fn field(name: &str, term: &Term) -> Item {
        Item {
            text: format!("{name} = {};", term.text),
            simpler: term
                .parts
                .iter()
                .map(|part| Item::field(name, part))
                .collect(),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Term {
    /// A term without parts.
    pub(crate) fn atom(text: impl Into<String>) -> Term {
        Term {
            text: text.into(),
            parts: Vec::new(),
        }
    }

    /// A term around others.
    pub(crate) fn around(text: String, parts: &[&Term]) -> Term {
        Term {
            text,
            parts: parts.iter().map(|part| (*part).clone()).collect(),
        }
    }
}

impl Program {
    /// The program as a file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("attention {} {{\n", self.name);
        for item in &self.items {
            text.push_str(&format!("    {}\n", item.text));
        }
        text + "}\n"
    }

    /// All programs that are one step smaller: an item simpler, or one or two items fewer.
    pub(crate) fn smaller(&self) -> Vec<Program> {
        let count = self.items.len();
        let mut found: Vec<Program> = (0..count).map(|i| self.without(&[i])).collect();
        for (i, item) in self.items.iter().enumerate() {
            for simpler in &item.simpler {
                let mut program = self.clone();
                program.items[i] = simpler.clone();
                found.push(program);
            }
        }
        let pairs = (0..count).flat_map(|j| (0..j).map(move |i| [i, j]));
        found.extend(pairs.map(|pair| self.without(&pair)));
        found.iter_mut().for_each(Program::drop_unread);
        found
    }

    /// Takes away declarations that nothing reads, which no program may have.
    fn drop_unread(&mut self) {
        let unread = |items: &[Item]| {
            items.iter().position(|item| {
                let name = item.declares();
                name.is_some_and(|name| {
                    let others = items.iter().filter(|other| *other != item);
                    !others.into_iter().any(|other| other.reads(name))
                })
            })
        };
        while let Some(at) = unread(&self.items) {
            self.items.remove(at);
        }
    }

    fn without(&self, left_out: &[usize]) -> Program {
        let items = self.items.iter().enumerate();
        Program {
            name: self.name.clone(),
            items: items
                .filter(|(i, _)| !left_out.contains(i))
                .map(|(_, item)| item.clone())
                .collect(),
        }
    }
}
