# Gangway. `make` alone prints what there is to make.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Where envtest finds etcd, kube-apiserver and kubectl. One that is set already
# (by setup-envtest, for instance) is used as it is.
ASSETS := $(CURDIR)/bin/assets
export KUBEBUILDER_ASSETS ?= $(ASSETS)

CONTROL_PLANE := etcd kube-apiserver kubectl
PROGRAMS := $(CONTROL_PLANE) kube-controller-manager kube-scheduler vc-scheduler vc-controller-manager kwok

# Packages whose tests start an API server; every other one is a unit test.
ENVTEST := ./api ./certs/... ./cmd/... ./controllers/... ./webhooks
GOTEST := go test -p 2
unit_packages = $$(go list ./... | grep -vxF -f <(go list $(ENVTEST)) | grep -vE '/e2e(/gateway)?$$')

PHASES := verify vet lint unit envtest e2e

##@ Start here

help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build programs $(if $(filter 1,$(GATEWAY)),gateway-bed) ## Start a cluster, install Gangway and see it work; GATEWAY=1 adds real HTTP
	@GATEWAY=$(GATEWAY) hack/demo.sh

demo-stop: cluster-down ## Stop the cluster of the demo

##@ Test

test: ## Everything that must hold: generated files, vet, lint, unit, envtest, e2e
	@begin=$$SECONDS; \
	for phase in $(PHASES); do \
	  start=$$SECONDS; \
	  echo "=== $$phase"; \
	  $(MAKE) $$phase || { echo "=== $$phase FAILED after $$((SECONDS - start))s; run it alone with: make $$phase" >&2; exit 1; }; \
	  echo "=== $$phase passed in $$((SECONDS - start))s"; \
	done; \
	echo "=== all of $(PHASES) passed in $$((SECONDS - begin))s"

unit: need-gcc ## Tests of the pure parts, with the race detector; all seeds of the simulator without it
	$(GOTEST) -race $(unit_packages)
	$(GOTEST) -run='^TestSimulation$$' ./plan

envtest: need-assets ## Tests against a real API server
	$(GOTEST) $(ENVTEST)

e2e: build programs ## The whole product on the local cluster
	$(GOTEST) -count=1 -timeout=40m -v ./e2e

e2e-gateway: build gateway-bed ## Real HTTP through a real Gateway on the local cluster; needs root
	$(GOTEST) -count=1 -timeout=30m -v ./e2e/gateway

bench: need-assets ## Benchmarks: a pass of the planner, the creation of Pods, whole admission answers
	go test -run='^$$' -bench=. -benchmem ./plan
	go test -run='^$$' -bench=. -benchtime=2000x ./webhooks
	go test -run='^$$' -bench=. -benchtime=1x -timeout=60m ./controllers

SOAK ?= 10m
soak: ## Simulated clusters of new seeds, for SOAK (10m)
	go test ./plan -count=1 -run='^TestSoak$$' -soak=$(SOAK) -timeout=0 -v

FUZZ ?= 10m
fuzz: need-assets ## Each fuzz target of the webhooks in turn, for FUZZ (10m)
	@for package in ./webhooks ./webhooks/validating ./webhooks/mutating; do \
	  for target in $$(go test -list='^Fuzz' $$package | grep '^Fuzz'); do \
	    go test -run='^$$' -fuzz="^$$target$$" -fuzztime=$(FUZZ) -fuzzminimizetime=10x $$package; \
	  done; \
	done

deflake: need-gcc need-assets ## Ten shuffled runs of every test, to find the flaky ones
	$(GOTEST) -race -count=10 -shuffle=on -failfast $(unit_packages)
	$(GOTEST) -count=10 -shuffle=on -failfast $(ENVTEST)

vet: ## go vet
	go vet ./...

lint: golangci-lint ## golangci-lint, with the import table of the house
	bin/assets/golangci-lint run

##@ Make

build: ## bin/gangway and bin/cluster
	go build -o bin/ ./cmd/... ./e2e/cluster/cmd/cluster

generate: controller-gen ## Write deepcopy functions, CRDs and roles from the markers
	@hack/generate.sh

verify: controller-gen ## Fail when generated files or go.mod are not what generate and go mod tidy write
	@hack/generate.sh --verify
	@go mod tidy -diff

fmt: golangci-lint ## Format the Go code
	bin/assets/golangci-lint fmt

##@ Local cluster

cluster-up: build programs ## Start the local cluster
	@bin/cluster up

cluster-down: ## Stop the local cluster
	@if [[ -x bin/cluster ]]; then bin/cluster down; \
	elif [[ -e .cluster/state.json ]]; then go run ./e2e/cluster/cmd/cluster down; \
	else echo "no cluster runs"; fi

clean: cluster-down ## Stop the cluster; remove its state and what build made
	rm -rf .cluster .cluster-e2e .cluster-gateway bin/gangway bin/kubectl-gangway bin/cluster bin/gateway-bed

##@ Tools, built once from hack/tools into bin

tools: programs controller-gen golangci-lint ## Everything below

programs: ## The programs and CRDs of the local cluster
	@hack/tool.sh $(PROGRAMS)
	@hack/manifests.sh

controller-gen golangci-lint: ## (one of these two)
	@hack/tool.sh $@

gateway-bed: programs ## traefik (five minutes, once) and what gives Pods real addresses
	@hack/tool.sh traefik
	go build -o bin/ ./e2e/gateway/cmd/gateway-bed

clean-tools: ## Remove the tools of every version
	rm -rf bin

need-assets:
	@if [[ "$$KUBEBUILDER_ASSETS" == "$(ASSETS)" ]]; then hack/tool.sh $(CONTROL_PLANE); fi
	@for program in etcd kube-apiserver; do \
	  [[ -x "$$KUBEBUILDER_ASSETS/$$program" ]] || { echo "error: KUBEBUILDER_ASSETS is $$KUBEBUILDER_ASSETS, which has no $$program; unset it to have one built" >&2; exit 1; }; \
	done
	@hack/manifests.sh

need-gcc:
	@hack/need.sh gcc gcc libc6-dev

.PHONY: help demo demo-stop test unit envtest e2e e2e-gateway bench deflake vet lint build generate verify fmt \
  cluster-up cluster-down clean tools programs controller-gen golangci-lint gateway-bed clean-tools need-assets need-gcc
