// stub
export interface DoctorOptions { readonly base: URL; readonly variant?: 'a'|'b'|'c'; readonly user?: string; readonly timeout: number }
export async function examine(_: DoctorOptions): Promise<{ report: string; broken: number }> { return { report: '', broken: 0 }; }
