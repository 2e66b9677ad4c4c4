# SPDX-License-Identifier: Apache-2.0
#
# An image with farcalld, farcall, the libraries they need and the compiled
# examples, and nothing else: no shell, no package manager, not root. For another
# processor than the builder's it is cross-compiled, so that
# `docker buildx build --platform linux/amd64,linux/arm64` needs no emulator. The same
# tree, base image and SOURCE_DATE_EPOCH make the same image (scripts/image).
#
#   docker build -t farcall .
#   docker run --rm -p 8000:8000 farcall
#   docker run --rm -p 8000:8000 -v models:/models farcall
ARG BASE=docker.io/library/debian:bookworm-slim
FROM --platform=$BUILDPLATFORM ${BASE} AS build
ARG TARGETARCH
WORKDIR /src
COPY scripts/deps scripts/
RUN scripts/deps "image-${TARGETARCH:-$(dpkg --print-architecture)}"

COPY . .
ARG TLS=OFF
ARG SOURCE_DATE_EPOCH=0
RUN tls=; [ "$TLS" = OFF ] || tls=--tls; \
    scripts/image-root $tls "${TARGETARCH:-$(dpkg --print-architecture)}" /image

# What is in it is listed by scripts/image-root. The examples are served until /models is
# mounted over.
FROM scratch
COPY --from=build /image /
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="farcall" \
      org.opencontainers.image.description="Compiled MLIR and IREE functions over HTTP and JSON" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The container's network is the boundary; farcalld itself refuses to listen
# beyond loopback unless told so. Flags of `docker run` come before variables.
# A load balancer has five seconds to see that /readyz is 503 before the server
# listens no more.
ENV FARCALL_LISTEN=0.0.0.0:8000 FARCALL_ALLOW_INSECURE_BIND=1 \
    FARCALL_PRE_DRAIN=5s
USER 65532:65532
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=2s CMD ["/usr/bin/farcall", "health"]
ENTRYPOINT ["/usr/bin/farcalld"]
CMD ["/models"]
