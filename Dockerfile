# Two images from one build: `manager` runs the controllers, `runner` has Terraform beside the same program.
#
#   make docker-build          both, for this machine
#   make docker-buildx         both, for every platform, and pushes them
#
# The program is one JavaScript bundle, so it is built once, on the machine that builds, for every platform. The runner
# exists for the two platforms that both Terraform and the AWS provider are released for.
# The final stages need no shell; the official Node image brings one, because Node publishes no image without.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG TERRAFORM_IMAGE=hashicorp/terraform:1.11.4

FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts ./scripts
COPY src ./src
COPY examples ./examples
COPY templates ./templates
ARG VERSION
RUN VERSION="${VERSION:-$(node -p 'require("./package.json").version')}" node scripts/build.ts

FROM ${TERRAFORM_IMAGE} AS terraform

FROM ${NODE_IMAGE} AS base
# Package managers have no business in a controller.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-*
COPY --from=build /src/dist/program /app/dist/program
# Terraform and credential helpers write below HOME; the root file system is read-only.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 HOME=/tmp
USER 65532:65532
ENTRYPOINT ["node", "--max-old-space-size=37", "--max-semi-space-size=2", "--max-opt=2", "--invocation-count-for-maglev=20000", "--invocation-count-for-maglev-osr=5000", "/app/dist/program/capt.mjs"]
CMD ["manager"]

FROM base AS runner
USER root
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
COPY --from=terraform /bin/terraform /usr/local/bin/terraform
USER 65532:65532

FROM base AS manager
