"""Monitoring: what changed, and is it detected in time?"""
