import type { RuntimePlatform } from './speech-runtime.ts';

/** Returns the platform of this process. */
export function getCurrentPlatform(): RuntimePlatform {
  return { platform: process.platform, arch: process.arch, glibc: getGlibcVersion() };
}

/** Returns the version of the GNU C library that this process is linked with. */
function getGlibcVersion(): string | undefined {
  const report: unknown = process.platform === 'linux' ? process.report.getReport() : undefined;
  if (typeof report !== 'object' || report === null || !('header' in report)) return undefined;
  const { header } = report;
  if (typeof header !== 'object' || header === null || !('glibcVersionRuntime' in header)) return undefined;
  return typeof header.glibcVersionRuntime === 'string' ? header.glibcVersionRuntime : undefined;
}
