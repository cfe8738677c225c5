import type { RuntimePlatform } from './speech-runtime.ts';

let currentPlatform: RuntimePlatform | undefined;

/** Returns the platform of this process. */
export const getCurrentPlatform = (): RuntimePlatform =>
  (currentPlatform ??= { platform: process.platform, arch: process.arch, glibc: getGlibcVersion() });

/** Returns the version of the GNU C library that this process is linked with. */
function getGlibcVersion(): string | undefined {
  const report = process.platform === 'linux' ? createReport() : undefined;
  if (typeof report !== 'object' || report === null || !('header' in report)) return undefined;
  const { header } = report;
  if (typeof header !== 'object' || header === null || !('glibcVersionRuntime' in header)) return undefined;
  return typeof header.glibcVersionRuntime === 'string' ? header.glibcVersionRuntime : undefined;
}

/** Creates a report of this process without its connections, whose peers it would resolve: the event loop waits for that. */
function createReport(): unknown {
  // Node's types lack the property.
  const report: typeof process.report & { excludeNetwork?: boolean } = process.report;
  const { excludeNetwork = false } = report;
  report.excludeNetwork = true;
  try {
    return report.getReport();
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}
