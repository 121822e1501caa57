# payrun as an image: one command, a user without rights, and a file system that it needs not write to but for /data.
# How to use it: docs/containers.md.
ARG NODE_IMAGE=node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${NODE_IMAGE} AS libraries
WORKDIR /payrun
COPY package.json package-lock.json ./
# TypeScript comes along only because a library may be given it. Neither it nor a map of sources is ever loaded.
RUN npm ci --omit=dev --ignore-scripts --cache /tmp/npm \
  && rm -r /tmp/npm node_modules/typescript node_modules/@typescript \
  && find node_modules -name '*.map' -exec rm {} +

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json tsconfig.json tsconfig.build.json ./
COPY .ci/build.mjs .ci/look.mjs .ci/
COPY src src
COPY jobs jobs
# In one step, which leaves nothing but what was built.
RUN npm ci --ignore-scripts --cache /tmp/npm && npm run build \
  && rm -r /tmp/npm node_modules

FROM ${NODE_IMAGE}
# A named volume that is mounted for the first time takes the owner of the folder below it.
RUN mkdir -m 700 /data /sandbox /credential && mkdir -m 755 /redis-users \
  && chown node:node /data /sandbox /credential /redis-users \
  && ln -s /payrun/dist/src/cli/payrun /usr/local/bin/payrun
COPY --from=libraries /payrun /payrun
COPY --from=build /build/dist /payrun/dist
COPY docs/redis.acl /payrun/redis.acl
# Each container has a loopback of its own, where a worker tells its figures, and that it is alive.
ENV NODE_ENV=production PAYRUN_DATA_DIR=/data PAYRUN_METRICS_PORT=9464
USER node
WORKDIR /data
# Intent logs outlive the container even where nobody thought of a volume.
VOLUME /data
# Healthy is whatever answers of web app, worker and sandbox.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 CMD ["node", "--no-warnings", "-e", "\
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; \
  const ask = async (url) => { const { status } = await fetch(url); if (status > 499) throw status; }; \
  Promise.any(['http://127.0.0.1:8420/healthz', 'https://127.0.0.1:8420/healthz', 'http://127.0.0.1:9464/metrics', 'http://127.0.0.1:4010/'].map(ask)) \
    .then(() => process.exit(0), () => process.exit(1));"]
ENTRYPOINT ["payrun"]
CMD ["--help"]
