# SPDX-License-Identifier: Apache-2.0
#
# An image with farcalld, farcall, the libraries they need and the compiled
# examples, and nothing else: no shell, no package manager, not root. It names no
# processor: `docker buildx build --platform linux/amd64,linux/arm64` makes both. The same
# tree, base image and SOURCE_DATE_EPOCH make the same image (scripts/image).
#
#   docker build -t farcall .
#   docker run --rm -p 8000:8000 farcall
#   docker run --rm -p 8000:8000 -v models:/models farcall
ARG BASE=docker.io/library/debian:bookworm-slim
FROM ${BASE} AS build
WORKDIR /src
COPY scripts/deps scripts/
RUN scripts/deps build

COPY . .
ARG TLS=OFF
RUN cmake --preset release -DFARCALL_TESTS=OFF -DFARCALL_TLS=${TLS} \
      -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_BINDIR=bin \
    && cmake --build --preset release --target farcalld farcall-cli

# What the last stage consists of. Modules may need libm and libgcc_s, so these
# are there whether or not our own programs use them; libssl is loaded by farcalld
# when a listener wants it. The examples are served until /models is mounted over.
ARG VERSION=0.1.0
ARG SOURCE_DATE_EPOCH=0
RUN set -e; out=/image; more='m|gcc_s'; [ "$TLS" = OFF ] || more="$more|ssl|crypto"; \
    mkdir -p "$out/usr/bin" "$out/models" "$out/etc" "$out/tmp"; \
    cp build/release/bin/farcalld build/release/bin/farcall "$out/usr/bin/"; \
    strip "$out"/usr/bin/*; \
    cp examples/iree/*.vmfb "$out/models/"; \
    [ "$(uname -m)" = x86_64 ] || rm "$out"/models/*-x86.vmfb; \
    printf 'farcall:x:65532:65532::/:/nonexistent\n' >"$out/etc/passwd"; \
    printf 'farcall:x:65532:\n' >"$out/etc/group"; \
    packages=; \
    for library in \
        $(ldd "$out"/usr/bin/* | grep -o '/[^ ]*\.so[^ ]*' | sort -u) \
        $(ldconfig -p | grep -Eo "/[^ ]*/lib($more)\.so\.[0-9]+" | sort -u); do \
      [ -e "$out$library" ] || cp --parents -L "$library" "$out"; \
      package=$(dpkg -S "$library" "$(readlink -f "$library")" \
                  2>/dev/null | head -n 1 | cut -d : -f 1); \
      packages="$packages $package"; \
      cp --parents -L "/usr/share/doc/$package/copyright" "$out"; \
    done; \
    install -D LICENSE "$out/usr/share/doc/farcall/copyright"; \
    mkdir -p "$out/usr/share/sbom"; \
    scripts/sbom "$VERSION" $packages >"$out/usr/share/sbom/farcall.spdx.json"; \
    find "$out" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

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
