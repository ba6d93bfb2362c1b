# syntax=docker/dockerfile:1
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends protobuf-compiler libprotobuf-dev clang libclang-dev cmake pkg-config g++ make \
    && rm -rf /var/lib/apt/lists/*
# The image names its toolchain by version; rust-toolchain.toml asks for stable.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY . .
# The dev profile optimises the crates whose loops count; see [profile.dev] in Cargo.toml.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/target \
    CARGO_TARGET_DIR=/target cargo build --locked \
    && install -D /target/debug/backstory /out/backstory

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
ENTRYPOINT ["backstory", "--config", "/etc/backstory/backstory.toml", "--data-dir", "/var/lib/backstory"]
CMD ["serve", "--listen", "0.0.0.0:7373"]
