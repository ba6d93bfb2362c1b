//! GraphQL types of webhooks that were received. Their payloads are not kept.

use async_graphql::{ComplexObject, Context, ID, Result, SimpleObject, connection::Connection};
use backstory_engine::{
    ledger::{DeliveryCursor, ReceivedDelivery},
    worker::ListDeliveries,
};

use super::{job::Job, loaders, page, person::Person, project::Project, scalar::DateTime};

/// A webhook that was received, without its payload.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct WebhookDelivery {
    /// Id that the forge gives the delivery; the same if it delivers the webhook again.
    id: ID,
    /// Address of the forge that sent the webhook.
    forge: String,
    /// What happened, in the forge's words: `Note Hook`, `issue_comment`.
    event: String,
    /// Project that the webhook is about; null if nothing of it is read here.
    project: Option<Project>,
    /// Person who caused the event; null if the forge does not say.
    sender: Option<Person>,
    /// When the webhook was received.
    received_at: DateTime,
    /// When what the webhook asked for was done; null if that has not ended, or nothing was to be done.
    processed_at: Option<DateTime>,
    /// Why the job failed; null if it did not.
    error: Option<String>,
    #[graphql(skip)]
    job_number: Option<i64>,
}

#[ComplexObject]
impl WebhookDelivery {
    /// Job that the webhook asked for, which may have been waiting already; null if nothing was to be done, or the job
    /// is not on record any more.
    async fn job(&self, ctx: &Context<'_>) -> Result<Option<Job>> {
        match self.job_number {
            Some(number) => Ok(loaders::job(ctx, number).await?.map(Job::from)),
            None => Ok(None),
        }
    }
}

impl From<ReceivedDelivery> for WebhookDelivery {
    fn from(delivery: ReceivedDelivery) -> Self {
        Self {
            id: delivery.id.into(),
            forge: delivery.forge,
            event: delivery.event,
            project: delivery.repository.map(Project::new),
            sender: delivery.sender.map(Person::new),
            received_at: delivery.received_at.into(),
            processed_at: delivery.processed_at.map(DateTime::from),
            error: delivery.error,
            job_number: delivery.job,
        }
    }
}

/// A page of webhooks that were received.
pub(crate) type WebhookDeliveryConnection = Connection<String, WebhookDelivery>;

/// A page of webhooks that were received, newest first, about projects or all.
pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    after: Option<&str>,
    projects: Vec<String>,
) -> Result<WebhookDeliveryConnection> {
    let size = page::size(first, page::DEFAULT_PAGE)?;
    let before: Option<DeliveryCursor> = page::decode(after)?;
    let request = ListDeliveries { projects, before, limit: size + 1 };
    let deliveries = loaders::engine(ctx)?.answer(request).await?;
    let cursor = |delivery: &ReceivedDelivery| page::encode(&DeliveryCursor::from(delivery));
    Ok(page::forward(deliveries, size, after, cursor, WebhookDelivery::from))
}
