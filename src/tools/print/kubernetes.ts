// `vitrine print kubernetes`
import {
  containerAdminPort,
  containerSettings,
  lines,
  MEDIA_MOUNT,
  mountedMedia,
  type PrintInput,
} from './input.ts';

const EXAMPLE_NETWORK = '10.0.0.0/8';
/** Seconds in which every node of the cluster learns that a pod is going away. */
const NOTICE = 5;

export function kubernetes(input: PrintInput): string {
  const isOne = hasFile(input);
  return `# Kubernetes for Vitrine: \`vitrine print kubernetes | kubectl apply -f -\`, after changing \`image\` and TRUST_PROXY.
# Import data with: kubectl exec -i ${isOne ? 'vitrine-0' : 'deploy/vitrine'} -- vitrine import - < people.ndjson
${isOne ? '' : SECRET}${workload(input)}${NETWORK}${ingress(input)}${isOne ? '' : DISRUPTION}`;
}

/** One pod has the file; with PostgreSQL there may be several. */
const hasFile = ({ file }: PrintInput) => file !== undefined;

function workload(input: PrintInput): string {
  const { port, stopTime, memory, trustProxy = EXAMPLE_NETWORK } = input;
  const adminPort = containerAdminPort(input);
  const isOne = hasFile(input);
  const notice = hasDelay(input) ? 0 : NOTICE;
  return `
apiVersion: apps/v1
kind: ${isOne ? 'StatefulSet' : 'Deployment'}
metadata:
  name: vitrine
  labels: { app: vitrine }
spec:
${isOne ? '  serviceName: vitrine\n  replicas: 1  # each pod has a file of its own: for more, use PostgreSQL\n' : '  replicas: 2\n'}  selector:
    matchLabels: { app: vitrine }
  template:
    metadata:
      labels: { app: vitrine }
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "${adminPort}"
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: ${stopTime + notice}
${isOne ? '' : SPREAD}      securityContext: ${POD_SECURITY}
      containers:
        - name: vitrine
          image: ${IMAGE}
          securityContext: ${CONTAINER_SECURITY}
          resources:
            requests: { cpu: 100m, memory: ${Math.ceil(memory / 2)}Mi }
            limits: { memory: ${memory}Mi }
          env:
            # The addresses of the ingress: its pods, or the nodes. Not all private networks: clients may be in them.
            - { name: TRUST_PROXY, value: ${JSON.stringify(trustProxy)} }
${lines(listSettings(input), '            ')}          ports:
            - { name: http, containerPort: ${port} }
            - { name: admin, containerPort: ${adminPort} }
          # Out of the service while the data cannot be read; restarted only if the process hangs.
          readinessProbe:
            httpGet: { path: /readyz, port: admin }
            periodSeconds: 2
          livenessProbe:
            httpGet: { path: /healthz, port: admin }
            periodSeconds: 10
            failureThreshold: 6
          volumeMounts:
${isOne ? '            - { name: data, mountPath: /data }\n' : SECRET_MOUNT}${listVolumes(input)}${SERVICE}`;
}

/** Volumes: the data, and the folder of pictures from a claim of the operator's. */
function listVolumes(input: PrintInput): string {
  const hasMedia = mountedMedia(input) !== undefined;
  const volumes = `${hasFile(input) ? '' : SECRET_VOLUME}${hasMedia ? MEDIA_VOLUME : ''}`;
  const claim = hasFile(input) ? VOLUME : '';
  return `${hasMedia ? MEDIA_VOLUME_MOUNT : ''}${volumes === '' ? '' : `      volumes:\n${volumes}`}${claim}`;
}

const hasDelay = ({ others }: PrintInput) => others.some(([name]) => name === 'SHUTDOWN_DELAY');

/** Kubernetes would read $(NAME) as a variable. */
const listSettings = (input: PrintInput) =>
  [
    ...(hasDelay(input) ? [] : [['SHUTDOWN_DELAY', `${NOTICE}s`] as const]),
    ...containerSettings(input, '/run/secrets/vitrine'),
  ].map(([name, text]) => `- { name: ${name}, value: ${JSON.stringify(text.replaceAll('$(', '$$$$('))} }`);

const SERVICE = `---
apiVersion: v1
kind: Service
metadata:
  name: vitrine
  labels: { app: vitrine }
spec:
  selector: { app: vitrine }
  ports:
    - { name: http, port: 80, targetPort: http }
`;
const SECRET = `# The database: kubectl create secret generic vitrine --from-file=database-url, a file with the postgres:// URL.
`;
const VOLUME = `  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests: { storage: 10Gi }
`;
const SECRET_MOUNT = `            - { name: secret, mountPath: /run/secrets/vitrine, readOnly: true }
`;
const SPREAD = `      # On several nodes, so that losing one leaves the others.
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: { app: vitrine }
`;
const SECRET_VOLUME = `        - name: secret
          secret: { secretName: vitrine }
`;
const MEDIA_VOLUME_MOUNT = `            - { name: media, mountPath: ${MEDIA_MOUNT} }
`;
const MEDIA_VOLUME = `        - name: media
          persistentVolumeClaim: { claimName: vitrine-media }
`;

// What stands around the pods in Kubernetes: who may reach them, and what may be taken away at a time.

const IMAGE = 'registry.example.org/vitrine:1';
const POD_SECURITY =
  '{ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }';
const CONTAINER_SECURITY =
  '{ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }';

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
