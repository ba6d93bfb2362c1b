//! GraphQL types of design notes: passages that say why.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    code::{self, ContentAnalysis},
    commit::Sha,
    document::{commit_url, lines_url},
    id::{NodeId, NoteSource},
    message,
    repository::{HeadFile, RepositoryItem},
};

use super::{
    super::{
        loaders,
        node::{Links, Node, linked},
        project::Project,
    },
    LineRange, commit_record, file_record, revision, some_url,
};
/// A passage of a commit message, a comment or a document that says why.
pub(crate) struct DesignNote {
    project: String,
    source: NoteSource,
    line: u32,
    links: Links,
}

impl DesignNote {
    pub(crate) fn new(project: String, source: NoteSource, line: u32) -> Self {
        let links = Links::of(NodeId::DesignNote { project: project.clone(), source: source.clone(), line });
        Self { project, source, line, links }
    }

    /// Its lines, and its text or the content that has it.
    async fn read(&self, ctx: &Context<'_>) -> Result<Option<(code::Lines, NoteText)>> {
        let found = match &self.source {
            NoteSource::Commit(sha) => {
                commit_record(ctx, NodeId::commit(&self.project, sha), |_, record| {
                    let notes = message::design_notes(&record.commit.message);
                    let note = notes.into_iter().find(|note| note.first_line == self.line)?;
                    Some((code::Lines::new(note.first_line, note.last_line), NoteText::Known(note.text)))
                })
                .await?
            }
            NoteSource::File(path) => file_record(ctx, &self.project, path, |_, file| self.in_file(file)).await?,
        };
        Ok(found.flatten())
    }

    fn in_file(&self, file: &HeadFile) -> Option<(code::Lines, NoteText)> {
        match &file.analysis.as_ref()?.content {
            ContentAnalysis::Code(code) => {
                let note = code.explanations.iter().find(|note| note.lines.first == self.line)?;
                Some((note.lines, NoteText::Known(note.text.clone())))
            }
            ContentAnalysis::Doc(doc) => {
                let lines = doc.decision.as_ref()?.lines.unwrap_or(code::Lines::new(1, 1));
                (lines.first == self.line).then_some((lines, NoteText::In(file.blob)))
            }
            ContentAnalysis::Text => None,
        }
    }
}

/// Where the text of a design note is.
enum NoteText {
    /// Here.
    Known(String),
    /// In a file's content.
    In(Sha),
}

// The interface asks for what all nodes have.
linked!(DesignNote, links);

/// A passage of a commit message, a comment or a document that says why.
#[Object]
impl DesignNote {
    /// Id of the design note as a node, `acme/shop:src/a.rs~12`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the design note.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Number of the note's first line in its source, from 1.
    async fn line(&self) -> u32 {
        self.line
    }

    /// Lines of the note in its source; null if it is gone.
    async fn lines(&self, ctx: &Context<'_>) -> Result<Option<LineRange>> {
        Ok(self.read(ctx).await?.map(|(lines, _)| lines.into()))
    }

    /// Text of the note; null if it is gone.
    async fn text(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(match self.read(ctx).await? {
            Some((_, NoteText::Known(text))) => Some(text),
            Some((lines, NoteText::In(blob))) => {
                Some(loaders::engine(ctx)?.read_lines(&self.project, blob, lines).await?)
            }
            None => None,
        })
    }

    /// Source of the note: the commit whose message it is in, or a file.
    async fn source(&self) -> Node {
        Node::from(match &self.source {
            NoteSource::Commit(sha) => NodeId::commit(&self.project, sha),
            NoteSource::File(path) => NodeId::file(&self.project, path),
        })
    }

    /// Page of the note's source at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = match &self.source {
            NoteSource::Commit(sha) => {
                commit_record(ctx, NodeId::commit(&self.project, sha), |of, _| commit_url(of.context(), sha)).await?
            }
            NoteSource::File(path) => {
                let lines = Some((self.line, self.line));
                let url = |of: &RepositoryItem, _: &HeadFile| lines_url(of.context(), revision(of), path, lines);
                file_record(ctx, &self.project, path, url).await?
            }
        };
        Ok(url.and_then(some_url))
    }

    /// Project that the note belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
