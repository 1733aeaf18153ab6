// Starts Chromium.
import { chromium } from 'playwright-core';
import { pathOf } from './programs.ts';

export const launch = () =>
  chromium.launch({
    executablePath: pathOf('chromium'),
    // A container's /dev/shm is small.
    args: ['--disable-dev-shm-usage', '--disable-background-networking'],
  });
