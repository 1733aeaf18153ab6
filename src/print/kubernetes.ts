// `vitrine print kubernetes`, and `vitrine print kubernetes-snapshots`: pods that each have a copy of the newest snapshot.
import {
  containerAdminPort,
  containerSettings,
  type Deployment,
  lines,
  MEDIA_MOUNT,
  mountedMedia,
} from './deployment.ts';
import {
  CONTAINER_SECURITY,
  type DataSource,
  IMAGE,
  POD_SECURITY,
  surroundings,
} from './kubernetes-surroundings.ts';

const EXAMPLE_NETWORK = '10.0.0.0/8';
/** Seconds in which every node of the cluster learns that a pod is going away. */
const NOTICE = 5;

export function kubernetes(deployment: Deployment): string {
  const source = deployment.file === undefined ? 'postgres' : 'claim';
  return `# Kubernetes for Vitrine: \`vitrine print kubernetes | kubectl apply -f -\`, after changing \`image\` and TRUST_PROXY.
${source === 'claim' ? IMPORT : SECRET}${workload(deployment, source)}${surroundings(deployment, source)}`;
}

export function kubernetesSnapshots(deployment: Deployment): string {
  const ofFile = { ...deployment, file: deployment.file ?? 'site.db' };
  return `# Kubernetes for Vitrine on many nodes: \`vitrine print kubernetes-snapshots | kubectl apply -f -\`, after changing \`image\` and
# TRUST_PROXY. Each pod begins with the newest snapshot in the claim vitrine-snapshots, which the job writes; pods on several
# nodes need an access mode ReadWriteMany. They take the next one with: kubectl rollout restart deployment/vitrine
${workload(ofFile, 'snapshots')}${surroundings(ofFile, 'snapshots')}`;
}

function workload(deployment: Deployment, source: DataSource): string {
  const { port, stopTime, memory, trustProxy = EXAMPLE_NETWORK } = deployment;
  const adminPort = containerAdminPort(deployment);
  const isOne = source === 'claim';
  const notice = hasDelay(deployment) ? 0 : NOTICE;
  return `
apiVersion: apps/v1
kind: ${isOne ? 'StatefulSet' : 'Deployment'}
metadata:
  name: vitrine
  labels: { app: vitrine }
spec:
${isOne ? '  serviceName: vitrine\n  replicas: 1  # each pod has a file of its own: for more, print kubernetes-snapshots\n' : '  replicas: 2\n'}  selector:
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
${source === 'snapshots' ? newestSnapshot() : ''}      containers:
        - name: vitrine
          image: ${IMAGE}
          securityContext: ${CONTAINER_SECURITY}
          resources:
            requests: { cpu: 100m, memory: ${Math.ceil(memory / 2)}Mi }
            limits: { memory: ${memory}Mi }
          env:
            # The addresses of the ingress: its pods, or the nodes. Not all private networks: clients may be in them.
            - { name: TRUST_PROXY, value: ${JSON.stringify(trustProxy)} }
${lines(listSettings(deployment), '            ')}          ports:
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
${source === 'postgres' ? SECRET_MOUNT : '            - { name: data, mountPath: /data }\n'}${listVolumes(deployment, source)}${SERVICE}`;
}

/** Volumes: the data, and the folder of pictures from a claim of the operator's. */
function listVolumes(deployment: Deployment, source: DataSource): string {
  const hasMedia = mountedMedia(deployment) !== undefined;
  const volumes = `${source === 'postgres' ? SECRET_VOLUME : ''}${source === 'snapshots' ? SNAPSHOT_VOLUMES : ''}${hasMedia ? MEDIA_VOLUME : ''}`;
  const claim = source === 'claim' ? VOLUME : '';
  return `${hasMedia ? MEDIA_VOLUME_MOUNT : ''}${volumes === '' ? '' : `      volumes:\n${volumes}`}${claim}`;
}

/** An empty folder is no reason not to start: the pod is not ready until it has data. */
const newestSnapshot = () => `      initContainers:
        - name: snapshot
          image: ${IMAGE}
          command: [sh, -c, 'set -- /snapshots/staging-*.db; [ ! -e "$1" ] || { shift $(($# - 1)); exec vitrine restore "$1"; }']
          securityContext: ${CONTAINER_SECURITY}
          resources:
            limits: { memory: 256Mi }
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: snapshots, mountPath: /snapshots, readOnly: true }
`;

const hasDelay = ({ others }: Deployment) => others.some(([name]) => name === 'SHUTDOWN_DELAY');

/** Kubernetes would read $(NAME) as a variable. */
const listSettings = (deployment: Deployment) =>
  [
    ...(hasDelay(deployment) ? [] : [['SHUTDOWN_DELAY', `${NOTICE}s`] as const]),
    ...containerSettings(deployment, '/run/secrets/vitrine'),
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
const IMPORT = `# Import data with: kubectl exec -i vitrine-0 -- vitrine import - < people.ndjson
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
const SNAPSHOT_VOLUMES = `        - name: data
          emptyDir: {}
        - name: snapshots
          persistentVolumeClaim: { claimName: vitrine-snapshots, readOnly: true }
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
