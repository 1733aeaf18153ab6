// What stands around the pods in Kubernetes: who may reach them, what may be taken away at a time, and the nightly import.
import { lines, type PrintInput } from './input.ts';

/** Where the data of the pods comes from. */
export type DataSource = 'claim' | 'postgres';

export const IMAGE = 'registry.example.org/vitrine:1';
export const POD_SECURITY =
  '{ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }';
export const CONTAINER_SECURITY =
  '{ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }';

export const surroundings = (input: PrintInput, source: DataSource): string =>
  `${NETWORK}${ingress(input)}${source === 'claim' ? '' : DISRUPTION}${importJob(source)}`;

/** The kubelet, which asks the probes, is on the node: policies let it pass. */
const NETWORK = `---
# The admin port is for Prometheus alone: change the namespace to that of yours.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: vitrine
spec:
  podSelector:
    matchLabels: { app: vitrine }
  policyTypes: [Ingress]
  ingress:
    - ports: [{ port: http }]
    - ports: [{ port: admin }]
      from:
        - namespaceSelector:
            matchLabels: { kubernetes.io/metadata.name: monitoring }
`;

const ingress = ({ names, https }: PrintInput) => `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: vitrine
spec:
${https ? `  tls:\n    - { hosts: [${names.join(', ')}], secretName: vitrine-tls }\n` : ''}  rules:
${lines(
  names.map(
    (name) =>
      `- { host: ${name}, http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: vitrine, port: { name: http } } } }] } }`,
  ),
  '    ',
)}`;

const DISRUPTION = `---
# While nodes are drained, one pod stays.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: vitrine
spec:
  minAvailable: 1
  selector:
    matchLabels: { app: vitrine }
`;

interface Job {
  readonly command: string;
  readonly env: string;
  /** Volumes besides the files to import: name, mount path, and the source. */
  readonly volumes: readonly (readonly [name: string, path: string, source: string])[];
  /** Whether it runs on the node of the server: only one node can mount its claim. */
  readonly besideServer?: boolean;
}

const IMPORT = 'vitrine import --replace /import/people.ndjson';

const JOBS: Record<DataSource, Job> = {
  claim: {
    command: IMPORT,
    env: '{ name: DATABASE_URL, value: /data/site.db }',
    volumes: [['data', '/data', 'persistentVolumeClaim: { claimName: data-vitrine-0 }']],
    besideServer: true,
  },
  postgres: {
    command: IMPORT,
    env: '{ name: DATABASE_URL_FILE, value: /run/secrets/vitrine/database-url }, { name: DATABASE_URL, value: "" }',
    volumes: [
      ['data', '/data', 'emptyDir: {}'],
      ['secret', '/run/secrets/vitrine', 'secret: { secretName: vitrine }'],
    ],
  },
};

const BESIDE_SERVER = `          affinity:
            podAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                - topologyKey: kubernetes.io/hostname
                  labelSelector:
                    matchLabels: { app: vitrine }
`;

function importJob(source: DataSource): string {
  const { command, env, volumes, besideServer = false } = JOBS[source];
  const mounts = volumes.map(([name, path]) => `- { name: ${name}, mountPath: ${path} }`);
  return `---
# The export of the data writes people.ndjson to the claim vitrine-import.
apiVersion: batch/v1
kind: CronJob
metadata:
  name: vitrine-import
spec:
  schedule: "15 3 * * *"
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 1
      template:
        metadata:
          labels: { app: vitrine-import }
        spec:
          automountServiceAccountToken: false
          restartPolicy: Never
${besideServer ? BESIDE_SERVER : ''}          securityContext: ${POD_SECURITY}
          containers:
            - name: import
              image: ${IMAGE}
              command: [sh, -c, ${JSON.stringify(command)}]
              securityContext: ${CONTAINER_SECURITY}
              resources:
                limits: { memory: 256Mi }
              env: [${env}]
              volumeMounts:
                - { name: import, mountPath: /import, readOnly: true }
${lines(mounts, '                ')}          volumes:
            - { name: import, persistentVolumeClaim: { claimName: vitrine-import, readOnly: true } }
${lines(
  volumes.map(([name, , source]) => `- { name: ${name}, ${source} }`),
  '            ',
)}`;
}
