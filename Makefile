# make help lists what there is; each verb calls something anyone can run by hand.
.DEFAULT_GOAL := help
SHELL := /bin/bash
NPM := npm --no-update-notifier
STAMP := node_modules/.capt-installed

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): package.json package-lock.json
	$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: deps
deps: $(STAMP) ## install exactly the packages that the lock file names

.PHONY: build
build: $(STAMP) ## bundle the program into dist/
	@$(NPM) run --silent build

.PHONY: demo
demo: build ## the whole story on this machine, without a cloud account
	@bin/capt demo $(ARGS)

.PHONY: check
check: $(STAMP) ## the fast gate: format, lint, types, generated files, every test that starts no process and no server
	@$(NPM) run --silent check

.PHONY: generate
generate: $(STAMP) ## write CRDs, reference pages and the error index
	@$(NPM) run --silent generate

.PHONY: flux-bundle
flux-bundle: $(STAMP) ## make the CRDs of the Flux releases that capt carries (needs Go; ARGS=2.9.5 for one)
	@scripts/flux-bundle.sh $(ARGS)

.PHONY: test
test: build ## lint, types and every test; ARGS=suite for one; what needs terraform, kubectl or moto skips by name, in CI fails
	@$(NPM) run --silent lint
	@$(NPM) run --silent types
	@$(NPM) run --silent test -- $(ARGS)

.PHONY: test-real
test-real: build ## the same promises on a real kube-apiserver and real Cluster API (builds them once, needs Go)
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node test/real/run.ts $(ARGS)

.PHONY: chaos
chaos: build ## the whole kill matrix: every victim at every moment (long)
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node --test "test/chaos/*.test.ts"

.PHONY: bench
bench: build ## the numbers: ratios to raw terraform, memory, writes per cluster
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node bench/engine.ts
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node bench/memory/run.ts
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node bench/addons.ts

# The verbs of a release and of a management cluster. Each checks what it needs before it changes anything; DRY_RUN=1
# changes nothing and prints the steps. Images are REGISTRY/OWNER/capt and capt-runner, tagged vX.Y.Z.
export VERSION REGISTRY OWNER IMAGE IMAGE_DIGEST RUNNER_DIGEST CONTAINER_TOOL DRY_RUN
RELEASE = @PATH="$(CURDIR)/node_modules/.bin:$$PATH" node scripts/release.ts $@

.PHONY: update-version
update-version: $(STAMP) ## write VERSION=X.Y.Z wherever the version stands
	$(RELEASE)

.PHONY: update-changelog
update-changelog: $(STAMP) ## make a section VERSION=X.Y.Z of what CHANGELOG.md has as unreleased
	$(RELEASE)

.PHONY: docker-build
docker-build: $(STAMP) ## build both images for this machine's platform
	$(RELEASE)

.PHONY: docker-buildx
docker-buildx: $(STAMP) ## build and push both images of VERSION=X.Y.Z for every platform
	$(RELEASE)

.PHONY: build-installer
build-installer: $(STAMP) ## release assets of VERSION=X.Y.Z and a local clusterctl repository, in dist/
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node scripts/installer.ts

.PHONY: package
package: $(if $(DRY_RUN),$(STAMP),build) ## the program as one archive for npm and tar, with a checksum, in dist/installer (after build-installer)
	@PATH="$(CURDIR)/node_modules/.bin:$$PATH" node scripts/package.ts

.PHONY: create-github-release
create-github-release: $(STAMP) ## publish dist/installer as the GitHub release of VERSION=X.Y.Z
	$(RELEASE)

.PHONY: install
install: $(STAMP) ## install the CRDs into the cluster of your kubeconfig
	$(RELEASE)

.PHONY: uninstall
uninstall: $(STAMP) ## remove the CRDs from the cluster of your kubeconfig
	$(RELEASE)

.PHONY: deploy
deploy: $(STAMP) ## install CRDs, roles and manager into the cluster of your kubeconfig
	$(RELEASE)

.PHONY: undeploy
undeploy: $(STAMP) ## remove what deploy installed
	$(RELEASE)

.PHONY: clean
clean: ## remove what was built
	rm -rf dist demo
