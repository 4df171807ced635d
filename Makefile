# What to run, by what one wants to know. `make check` is what CI runs before the tests.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The packages in which several goroutines or processes meet.
CONCURRENT = ./store/... ./ingest/... ./publish/... ./internal/httpx/... ./cmd/gateway/...

.PHONY: all build check fmt test race bench soak clean

all: check test

build:
	go build -trimpath -o bin/gateway ./cmd/gateway

# Formatting, vet, staticcheck. The picture of imports is a test of its own, in internal/arch.
check:
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

fmt:
	gofmt -w .

test:
	go test ./...

race:
	go test -race -short $(CONCURRENT)

# Benchmarks state their load in their names; BENCH=regexp chooses some.
BENCH ?= .
bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# Long runs that go test leaves out: kills at random moments, long histories, large inputs.
soak:
	GATEWAY_SOAK=1 go test -count=1 -timeout 2h -run Soak -v ./...

clean:
	rm -rf bin
