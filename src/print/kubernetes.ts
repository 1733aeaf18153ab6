// `vitrine print kubernetes`
import {
  containerAdminPort,
  containerSettings,
  type Deployment,
  lines,
  MEDIA_MOUNT,
  mountedMedia,
} from './deployment.ts';

const EXAMPLE_NETWORK = '10.0.0.0/8';
/** Seconds in which every node of the cluster learns that a pod is going away. */
const NOTICE = 5;

export function kubernetes(deployment: Deployment): string {
  const { port, stopTime, file, memory, trustProxy = EXAMPLE_NETWORK } = deployment;
  const adminPort = containerAdminPort(deployment);
  const isFile = file !== undefined;
  const notice = ownDelay(deployment) ? 0 : NOTICE;
  return `# Kubernetes for Vitrine: \`vitrine print kubernetes | kubectl apply -f -\`, after changing \`image\` and TRUST_PROXY.
${isFile ? IMPORT : SECRET}
apiVersion: apps/v1
kind: ${isFile ? 'StatefulSet' : 'Deployment'}
metadata:
  name: vitrine
  labels: { app: vitrine }
spec:
${isFile ? '  serviceName: vitrine\n  replicas: 1  # each pod has a file of its own: see "Many nodes"\n' : '  replicas: 2\n'}  selector:
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
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      containers:
        - name: vitrine
          image: registry.example.org/vitrine:1
          securityContext:
            readOnlyRootFilesystem: true
            allowPrivilegeEscalation: false
            capabilities: { drop: [ALL] }
          resources:
            requests: { cpu: 100m, memory: ${Math.ceil(memory / 2)}Mi }
            limits: { memory: ${memory}Mi }
          env:
            # The addresses of the ingress: its pods, or the nodes. Not all private networks: clients may be in them.
            - { name: TRUST_PROXY, value: ${JSON.stringify(trustProxy)} }
${lines(settingsOf(deployment), '            ')}          ports:
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
${isFile ? '            - { name: data, mountPath: /data }\n' : SECRET_MOUNT}${volumesOf(deployment)}${SERVICE}`;
}

/** What is mounted besides the data: the folder of pictures from a claim of the operator's. */
function volumesOf(deployment: Deployment): string {
  const isFile = deployment.file !== undefined;
  const hasMedia = mountedMedia(deployment) !== undefined;
  const volumes = isFile && !hasMedia ? '' : `      volumes:\n${isFile ? '' : SECRET_VOLUME}`;
  return `${hasMedia ? MEDIA_VOLUME_MOUNT : ''}${volumes}${hasMedia ? MEDIA_VOLUME : ''}${isFile ? VOLUME : ''}`;
}

const ownDelay = ({ others }: Deployment) => others.some(([name]) => name === 'SHUTDOWN_DELAY');

function settingsOf(deployment: Deployment): string[] {
  const { port, file } = deployment;
  const settings: (readonly [string, string])[] = [
    ['HOST', '0.0.0.0'],
    ['PORT', String(port)],
    // The image sets DATABASE_URL: empty, it leaves the word to the file.
    ['DATABASE_URL', file === undefined ? '' : '/data/site.db'],
    ...(file === undefined ? [['DATABASE_URL_FILE', '/run/secrets/vitrine/database-url'] as const] : []),
    ['ADMIN_HOST', '0.0.0.0'],
    ['ADMIN_PORT', String(containerAdminPort(deployment))],
    ...(ownDelay(deployment) ? [] : [['SHUTDOWN_DELAY', `${NOTICE}s`] as const]),
    ...containerSettings(deployment),
  ];
  // Kubernetes would read $(NAME) as a variable.
  const escaped = (text: string) => JSON.stringify(text.replaceAll('$(', '$$$$('));
  return settings.map(([name, text]) => `- { name: ${name}, value: ${escaped(text)} }`);
}

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
const SECRET_VOLUME = `        - name: secret
          secret: { secretName: vitrine }
`;
const MEDIA_VOLUME_MOUNT = `            - { name: media, mountPath: ${MEDIA_MOUNT} }
`;
const MEDIA_VOLUME = `        - name: media
          persistentVolumeClaim: { claimName: vitrine-media }
`;
