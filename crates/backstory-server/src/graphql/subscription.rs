//! The subscriptions of the GraphQL API: what clients receive as it happens.

use std::{sync::Arc, time::Duration};

use async_graphql::{Context, ID, Result, Subscription as GraphQlSubscription};
use backstory_engine::{
    Engine,
    error::{Error, ErrorKind},
    ledger,
    task::{Progress, TaskStatus},
    use_case::Weight,
};
use futures::{Stream, stream};
use tokio::sync::watch;

use super::{
    change::Changed,
    chat::{self, AnswerPart},
    counter::Counter,
    job::Job,
    loaders,
    scalar::BigInt,
    task::Task,
};
use crate::queue::Queue;

/// Least time between two changes of a task that are told: a task may change thousands of times a second.
const INTERVAL: Duration = Duration::from_millis(100);

/// Time between two looks at what has changed.
const CHANGES_INTERVAL: Duration = Duration::from_secs(1);

/// What clients are sent as it happens.
pub(crate) struct Subscription;

/// What clients are sent as it happens.
#[GraphQlSubscription]
impl Subscription {
    /// A task as it is now, and again whenever it has changed, at most ten times a second, until it has ended.
    async fn task_progress(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the task, `task/12`, or its number.")] id: ID,
    ) -> Result<impl Stream<Item = Task> + use<>> {
        let number = Counter::Task.number(&id)?;
        let task = loaders::engine(ctx)?
            .watch_task(number)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no task {number}")))?;
        Ok(stream::unfold(Watch::First(task), Watch::next))
    }

    /// A job as it is now, and again whenever it has changed, at most ten times a second, until it has ended.
    async fn job_progress(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the job, `job/12`, or its number.")] id: ID,
    ) -> Result<impl Stream<Item = Result<Job>> + use<>> {
        let engine = loaders::engine(ctx)?.clone();
        let first = engine.find_job(Counter::Job.number(&id)?).await?;
        Ok(stream::unfold(Follow::First(first), move |follow| follow.next(engine.clone())))
    }

    /// What changes or is removed from now on, as soon as it can be read: at most once a second, and 100 changes at a
    /// time.
    async fn changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full paths of projects. All if absent or empty.")] projects: Option<Vec<String>>,
        #[graphql(desc = "Also what changed after this `seq` of an earlier message.")] after: Option<BigInt>,
    ) -> Result<impl Stream<Item = Result<Changed>> + use<>> {
        let engine = loaders::engine(ctx)?.clone();
        let projects = projects.unwrap_or_default();
        engine.check_projects(&projects).await?;
        let after = match after {
            Some(after) => after.into(),
            None => engine.readable_up_to().await?,
        };
        Ok(stream::unfold(Changing { engine, projects, after }, Changing::next))
    }

    /// Asks in a conversation, like `sendMessage`, and sends the answer as it is made: each statement as soon as it has
    /// been checked against what it cites, then the message that is kept.
    async fn answer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the conversation, `chat/12`, or its number.")] chat: ID,
        #[graphql(desc = "The question, at most 2,000 characters.")] text: String,
        #[graphql(
            desc = "Whether a language model may word the answer, if one is configured.",
            default_with = "Some(true)"
        )]
        model: Option<bool>,
    ) -> Result<impl Stream<Item = Result<AnswerPart>> + use<>> {
        let turn = ctx.data::<Arc<Queue>>()?.turn(Weight::Long).await?;
        chat::stream(ctx, &chat, text, model, turn)
    }
}

/// How far the telling of changes is.
struct Changing {
    engine: Engine,
    projects: Vec<String>,
    after: u64,
}

impl Changing {
    async fn next(mut self) -> Option<(Result<Changed>, Self)> {
        loop {
            tokio::time::sleep(CHANGES_INTERVAL).await;
            match self.engine.nodes_changed_after(self.after, &self.projects).await {
                Ok(changed) => {
                    self.after = changed.up_to;
                    if !changed.changes.is_empty() {
                        return Some((Ok(changed.into()), self));
                    }
                }
                Err(error) => return Some((Err(error.into()), self)),
            }
        }
    }
}

/// How far the telling of a job is.
enum Follow {
    /// Nothing has been told.
    First(ledger::Job),
    /// It had not ended when it was last told of, as it was and as far as it was then.
    Told(ledger::Job, Option<Progress>),
    /// The end has been told.
    Ended,
}

impl Follow {
    async fn next(self, engine: Engine) -> Option<(Result<Job>, Self)> {
        let progress = |job: &ledger::Job| engine.task_of_job(job.id).map(|task| task.progress);
        let job = match self {
            Self::First(job) => job,
            Self::Told(told, far) => loop {
                tokio::time::sleep(INTERVAL).await;
                match engine.find_job(told.id).await {
                    Ok(job) if job == told && progress(&job) == far => {}
                    Ok(job) => break job,
                    Err(error) => return Some((Err(error.into()), Self::Ended)),
                }
            },
            Self::Ended => return None,
        };
        let is_open = matches!(job.status, ledger::JobStatus::Queued | ledger::JobStatus::Running);
        let next = if is_open { Self::Told(job.clone(), progress(&job)) } else { Self::Ended };
        Some((Ok(job.into()), next))
    }
}

/// How far the telling of a task is.
enum Watch {
    /// Nothing has been told.
    First(watch::Receiver<backstory_engine::task::Task>),
    /// The task was at work when it was last told of.
    Running(watch::Receiver<backstory_engine::task::Task>),
    /// The end has been told.
    Ended,
}

impl Watch {
    async fn next(self) -> Option<(Task, Self)> {
        let mut receiver = match self {
            Self::First(receiver) => receiver,
            Self::Running(mut receiver) => {
                tokio::time::sleep(INTERVAL).await;
                // If the task is forgotten, its last state stays readable and is its end.
                let _ = receiver.changed().await;
                receiver
            }
            Self::Ended => return None,
        };
        let task = receiver.borrow_and_update().clone();
        let next = if task.status == TaskStatus::Running { Self::Running(receiver) } else { Self::Ended };
        Some((task.into(), next))
    }
}
