/** What Node is told so that it writes a CPU profile at its end; nothing where no directory is given. */
export function profileArgsIn(directory, name) {
  if (!directory) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-name=${name}.cpuprofile`];
}
