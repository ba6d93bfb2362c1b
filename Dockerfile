# syntax=docker/dockerfile:1
# Images are named by tag, which their publisher can move. To build from the bytes that were looked at, put the digest
# behind the tag of both images below (rust:1.95-slim-bookworm@sha256:…); this prints it:
#   docker buildx imagetools inspect rust:1.95-slim-bookworm --format '{{.Manifest.Digest}}'
FROM rust:1.95-slim-bookworm AS base
# The image names its toolchain by version; rust-toolchain.toml asks for stable.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY Cargo.toml ./
COPY scripts/setup scripts/
RUN scripts/setup && rm -rf /var/lib/apt/lists/* && cargo install --locked cargo-chef@0.1.78

FROM base AS plan
COPY . .
RUN cargo chef prepare --recipe-path recipe.json

FROM base AS build
# The dependencies are a layer of their own: an edit of the source leaves it as it is.
COPY --from=plan /src/recipe.json recipe.json
RUN cargo chef cook --release --locked --recipe-path recipe.json
COPY . .
RUN cargo build --release --locked && install -D target/release/backstory /out/backstory

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --home-dir /var/lib/backstory --uid 10001 backstory
COPY --from=build /out/backstory /usr/local/bin/backstory
USER backstory
WORKDIR /var/lib/backstory
VOLUME /var/lib/backstory
EXPOSE 7373
# The first start may have to build graph and index. Asks for /readyz; nothing else than the program is needed for it.
HEALTHCHECK --interval=30s --timeout=10s --start-period=10m --retries=3 \
    CMD ["backstory", "--config", "/etc/backstory/backstory.toml", "--data-dir", "/var/lib/backstory", "health"]
ENTRYPOINT ["backstory", "--config", "/etc/backstory/backstory.toml", "--data-dir", "/var/lib/backstory"]
CMD ["serve", "--listen", "0.0.0.0:7373"]
