#!/bin/bash
echo GOLD-SOLUTION | patch -p1
