# Moonlap in a container, from the package that script/release builds:
#   script/release --version 1.2.3 --out dist
#   docker build --build-arg DEB=dist/moonlap_1.2.3-1_amd64.deb --tag moonlap .
# docs/how-to/containers.md says how to look into other containers with it, and with which capabilities.

# To measure: bench, compare, run and load, with Debian's nginx and LuaJIT (docker build --target measure).
FROM docker.io/library/debian:12-slim AS measure
ARG DEB
COPY ${DEB} /tmp/moonlap.deb
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes /tmp/moonlap.deb && \
    rm -rf /tmp/moonlap.deb /var/lib/apt/lists/*
ENTRYPOINT ["moonlap"]

# To look into running workers: the static program alone, so there is nothing else to keep up to date.
FROM scratch AS look
COPY --from=measure /usr/bin/moonlap /usr/bin/moonlap
ENTRYPOINT ["/usr/bin/moonlap"]
