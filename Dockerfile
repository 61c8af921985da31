# The manager's image: one static program and nothing else. .git is in the build context, so that
# `gangway version` knows its commit.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN git config --global --add safe.directory /src
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags="-s -w" -o /out/gangway ./cmd/gangway

FROM scratch
COPY --from=build /out/gangway /gangway
COPY LICENSE /LICENSE
USER 65532:65532
ENTRYPOINT ["/gangway"]
