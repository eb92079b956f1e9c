#!/usr/bin/env node
import '../dist/harbor-to-prompts.js'
