# SPDX-License-Identifier: Apache-2.0
#
# An image with farcalld, farcall, the libraries they need and the compiled
# examples, and nothing else: no shell, no package manager, not root.
#
#   docker build -t farcall .
#   docker run --rm -p 8000:8000 farcall
#   docker run --rm -p 8000:8000 -v "$PWD/models:/models:ro" farcall /models
ARG BASE=docker.io/library/debian:bookworm-slim
FROM ${BASE} AS build
WORKDIR /src
COPY scripts/deps scripts/
RUN scripts/deps build

COPY . .
RUN cmake --preset release -DFARCALL_TESTS=OFF \
      -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_BINDIR=bin \
    && cmake --build --preset release --target farcalld farcall-cli

# What the last stage consists of. Modules may need libm and libgcc_s, so these
# are there whether or not our own programs use them.
RUN set -e; out=/image; \
    mkdir -p "$out/usr/bin" "$out/modules" "$out/etc" "$out/tmp"; \
    cp build/release/bin/farcalld build/release/bin/farcall "$out/usr/bin/"; \
    strip "$out"/usr/bin/*; \
    cp examples/iree/*.vmfb "$out/modules/"; \
    printf 'farcall:x:65532:65532::/:/nonexistent\n' >"$out/etc/passwd"; \
    printf 'farcall:x:65532:\n' >"$out/etc/group"; \
    for library in \
        $(ldd "$out"/usr/bin/* | grep -o '/[^ ]*\.so[^ ]*' | sort -u) \
        $(ldconfig -p | grep -o '/[^ ]*/lib\(m\|gcc_s\)\.so\.[0-9]*' | sort -u); do \
      [ -e "$out$library" ] || cp --parents -L "$library" "$out"; \
      package=$(dpkg -S "$library" "$(readlink -f "$library")" \
                  2>/dev/null | head -n 1 | cut -d : -f 1); \
      cp --parents -L "/usr/share/doc/$package/copyright" "$out"; \
    done; \
    install -D LICENSE "$out/usr/share/doc/farcall/copyright"

FROM scratch
COPY --from=build /image /
LABEL org.opencontainers.image.title="farcall" \
      org.opencontainers.image.description="Compiled MLIR and IREE functions over HTTP and JSON" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
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
CMD ["/modules"]
