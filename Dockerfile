# payrun as an image: one command, a user without rights, and a file system that it needs not write to but for /data.
# How to use it: docs/containers.md.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY jobs jobs
RUN npm run build && npm prune --omit=dev --ignore-scripts && chmod a+rx dist/src/cli/main.js && chmod a+r package.json

FROM node:24-bookworm-slim
# A named volume that is mounted for the first time takes the owner of the folder below it.
RUN mkdir -m 700 /data /sandbox /credential \
  && chown node:node /data /sandbox /credential \
  && ln -s /payrun/dist/src/cli/main.js /usr/local/bin/payrun
COPY --from=build /build/package.json /payrun/package.json
COPY --from=build /build/node_modules /payrun/node_modules
COPY --from=build /build/dist /payrun/dist
ENV NODE_ENV=production PAYRUN_DATA_DIR=/data
USER node
WORKDIR /data
# Intent logs outlive the container even where nobody thought of a volume.
VOLUME /data
# No HEALTHCHECK: a worker that cannot go on ends itself, and the sandbox's is in docker-compose.yml.
ENTRYPOINT ["payrun"]
CMD ["--help"]
