ARG NODE_TAG=24-slim

# The package, as `npm run pack` makes it.
FROM node:${NODE_TAG} AS package
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY test/node test/node
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run -s pack && tar xzf vitrine-*.tgz && \
    # Readable by everyone, whatever the checkout's umask was.
    chmod -R a+rX,go-w package && chmod a+x package/dist/vitrine.js

# The package with its dependencies, in the versions of the lock file.
FROM node:${NODE_TAG} AS app
WORKDIR /app
COPY package-lock.json .npmrc ./
COPY --from=package /build/package ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm package-lock.json .npmrc
# better-sqlite3 brings a binary for every platform and SQLite's source. One binary is enough, if it loads.
RUN cd node_modules/better-sqlite3 && \
    keep="$(node -p 'require("./lib/binding.js").getPrebuildPath()')" && \
    find "$PWD/prebuilds" -type f ! -path "$keep" -delete && \
    rm -rf deps src && \
    node -e 'require("./lib/index.js")(":memory:").close()'
# Compiled code makes a start faster. Node keeps it for one path and one account, which are those of the image below.
# V8 takes it only with the flags that were set when it was made, and main.ts sets two after its imports. A fixed seed, and
# no server that runs, make it the same in every build. Later no one can write it. The last line fails if the account cannot
# read it.
RUN install -d -o node -g node node_modules/.cache && \
    as_node="setpriv --reuid=node --regid=node --clear-groups" && \
    $as_node node --random-seed=1 --input-type=module -e ' \
      process.getBuiltinModule("module").enableCompileCache("/app/node_modules/.cache/vitrine"); \
      await import("/app/dist/cli/program.js"); \
      for (const flag of ["--semi-space-growth-factor=1", "--no-parallel-scavenge"]) \
        process.getBuiltinModule("v8").setFlagsFromString(flag); \
      for (const name of ["server/telemetry/log", "server/serve", "server/listen", "stores/sqlite/serve"]) \
        await import(`/app/dist/${name}.js`);' && \
    chown -R root:root node_modules/.cache && chmod -R a+rX,go-w node_modules/.cache && \
    $as_node env NODE_DEBUG_NATIVE=COMPILE_CACHE node dist/vitrine.js --version 2>&1 | grep -q 'was accepted'

FROM node:${NODE_TAG}
ARG VERSION=local
LABEL org.opencontainers.image.title="Vitrine" \
      org.opencontainers.image.description="Serves people's public profiles and their latest work as JSON, read-only, over HTTP." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
# SQLite's temporary files go to the volume: a read-only container has no other room for them. SIGUSR1 opens no debugger,
# not even before the program is loaded. Node's threads share two pools of memory instead of having one each:
# a server under attack then needs 10 MB less.
ENV HOST=0.0.0.0 PORT=8080 DATABASE_URL=/data/site.db SQLITE_TMPDIR=/data NODE_OPTIONS=--disable-sigusr1 MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=app /app ./
RUN ln -s /app/dist/vitrine.js /usr/local/bin/vitrine && install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 8080
# On Linux a connection to 0.0.0.0 or :: reaches this machine, so HOST does as it is.
HEALTHCHECK --interval=15s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "-e", "const { HOST: host, PORT: port } = process.env; require('node:http').get({ ...(host.startsWith('/') ? { socketPath: host } : { host, port }), path: '/healthz' }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["vitrine", "serve"]
