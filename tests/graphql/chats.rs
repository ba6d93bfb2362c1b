//! Conversations over the API, and answers that are told as they are made.

use serde_json::{Value, json};

use super::{Api, access::Socket};
use crate::support::{Forge, Model, Sandbox, Says};

/// An API over the fixture, with a language model.
fn api(model: &Model) -> Api {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.configure(&model.config("openai"));
    // What is found, and so the numbers of passages, must not change while the server answers.
    sandbox.run(&["embed"]).ok();
    let server = sandbox.serve();
    Api { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
}

/// What is told of an answer, until its end.
async fn told(api: &Api, chat: &str, text: &str) -> Vec<Value> {
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query = "subscription ($chat: ID!, $text: String!) { answer(chat: $chat, text: $text) {
        statement { text citations } citations { number documentId text } message { number text answer { method } } } }";
    let payload = json!({ "query": query, "variables": { "chat": chat, "text": text } });
    socket.send(json!({ "id": "a", "type": "subscribe", "payload": payload })).await;
    let mut told = vec![];
    loop {
        let message = socket.next().await.unwrap();
        if message["type"] == "complete" {
            return told;
        }
        told.push(message["payload"].clone());
    }
}

#[tokio::test]
async fn an_answer_is_told_sentence_by_sentence() {
    let model = Model::start();
    let api = api(&model);
    let chat = api
        .data("mutation { createChat(project: \"acme/shop\") { id number project { id } messageCount title } }")
        .await;
    assert_eq!(
        chat["createChat"],
        json!({ "id": "chat/1", "number": 1, "project": { "id": "acme/shop" }, "messageCount": 0, "title": null })
    );
    // Which number the passage has that is wanted.
    model.say("NOT FOUND");
    told(&api, "chat/1", "Why did we choose Redis over Memcached?").await;
    let prompt = model.asked()[0].message("user");
    let n =
        prompt.split("<<<passage [").skip(1).position(|passage| passage.contains("survives a restart")).unwrap() + 1;

    model.say(&format!(
        "Redis survives a restart with its cache [{n}]. Bananas are cheaper in Peru [{n}]. It can expire a whole product by tag [{n}]."
    ));
    let parts = told(&api, "1", "Why did we choose Redis over Memcached?").await;
    let texts: Vec<&Value> = parts.iter().map(|part| &part["data"]["answer"]["statement"]["text"]).collect();
    assert_eq!(
        texts,
        [
            &json!("Redis survives a restart with its cache."),
            &json!("It can expire a whole product by tag."),
            &Value::Null
        ]
    );
    let cited = &parts[0]["data"]["answer"]["citations"][0];
    assert!(cited["number"] == 1 && cited["text"].as_str().unwrap().contains("survives a restart"), "{cited}");
    let message = &parts[2]["data"]["answer"]["message"];
    assert_eq!((&message["number"], &message["answer"]["method"]), (&json!(4), &json!("MODEL")));
    assert!(model.asked()[0].body["stream"] == true);

    // A stream that breaks off: what was certain before stays.
    model.will([Says::BreaksOff(format!("Redis survives a restart with its cache [{n}]. It can exp"))]);
    let parts = told(&api, "1", "Why did we choose Redis over Memcached?").await;
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(parts[1]["data"]["answer"]["message"]["answer"]["method"], "MODEL");
}

#[tokio::test]
async fn quotations_are_told_too() {
    let api = Api::new();
    api.data("mutation { createChat { id } }").await;
    let parts = told(&api, "1", "Why did we choose Redis over Memcached?").await;
    assert!(parts.len() >= 2, "{parts:?}");
    assert!(parts[0]["data"]["answer"]["statement"]["text"].is_string());
    let refused = told(&api, "1", "Why was Kafka chosen as the message broker?").await;
    assert_eq!(refused.len(), 1, "{refused:?}");
    let text = refused[0]["data"]["answer"]["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("I could not find this information"), "{text}");
}

#[tokio::test]
async fn messages_are_listed_and_wrong_chats_refused() {
    let api = Api::new();
    api.data("mutation { createChat { id } }").await;
    let sent = api
        .data("mutation { sendMessage(chat: \"1\", text: \"Why token bucket?\") { number role answer { answered } } }");
    assert_eq!(sent.await["sendMessage"], json!({ "number": 2, "role": "ASSISTANT", "answer": { "answered": true } }));
    let chat =
        api.data("{ chat(id: \"1\") { title messageCount messages(first: 1) { nodes { role text } pageInfo { hasNextPage endCursor } } } chats { nodes { id } pageInfo { hasNextPage } } }").await;
    assert_eq!(
        chat,
        json!({
            "chat": { "title": "Why token bucket?", "messageCount": 2, "messages": {
                "nodes": [{ "role": "USER", "text": "Why token bucket?" }], "pageInfo": { "hasNextPage": true, "endCursor": "1" } } },
            "chats": { "nodes": [{ "id": "chat/1" }], "pageInfo": { "hasNextPage": false } },
        })
    );
    assert_eq!(api.data("{ chat(id: \"99\") { id } }").await["chat"], Value::Null);
    assert_eq!(api.error("mutation { sendMessage(chat: \"99\", text: \"x\") { number } }").await.0, "NOT_FOUND");
    let absent = api.answer("mutation { sendMessage(chat: \"99\", text: \"x\") { number } }", Value::Null).await;
    assert_eq!(absent["errors"][0]["message"], "there is no chat 99");
    assert_eq!(absent["errors"][0]["extensions"]["hint"], "'chats' lists those there are");
    assert_eq!(api.error("mutation { createChat(project: \"acme/nothing\") { id } }").await.0, "INVALID");
    assert_eq!(api.error("{ chat(id: \"x\") { id } }").await.0, "INVALID");
    assert_eq!(api.error("{ chat(id: \"task/1\") { id } }").await.0, "INVALID");
    // Pages are read from the newest on.
    api.data("mutation { createChat { id } }").await;
    let page = "query ($after: String) { chats(first: 1, after: $after) { nodes { number } pageInfo { endCursor hasNextPage } } }";
    let first = api.data_with(page, Value::Null).await["chats"].take();
    assert_eq!((&first["nodes"], &first["pageInfo"]["hasNextPage"]), (&json!([{ "number": 2 }]), &json!(true)));
    let next = api.data_with(page, json!({ "after": first["pageInfo"]["endCursor"] })).await["chats"].take();
    assert_eq!((&next["nodes"], &next["pageInfo"]["hasNextPage"]), (&json!([{ "number": 1 }]), &json!(false)));
    assert_eq!(api.data("mutation { removeChat(id: \"chat/2\") }").await["removeChat"], true);
    let parts = told(&api, "99", "x").await;
    assert_eq!(parts[0]["errors"][0]["extensions"]["code"], "NOT_FOUND", "{parts:?}");
    let long = "x".repeat(2001);
    assert_eq!(
        api.error(&format!("mutation {{ sendMessage(chat: \"1\", text: \"{long}\") {{ number }} }}")).await.0,
        "INVALID"
    );
    // Whatever fails is not kept.
    assert_eq!(api.data("{ chat(id: \"1\") { messageCount } }").await["chat"]["messageCount"], 2);
    assert_eq!(api.data("mutation { removeChat(id: \"1\") }").await["removeChat"], true);
    assert_eq!(api.data("{ chats { nodes { id } } }").await["chats"]["nodes"], json!([]));
}
